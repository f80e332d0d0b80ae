module goroutines

go 1.19

require taskgrain v0.0.0

replace taskgrain => ../../src/go
