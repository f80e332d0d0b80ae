module taskgrain

go 1.19
