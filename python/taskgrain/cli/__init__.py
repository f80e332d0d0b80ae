"""The command `taskgrain`: one file a verb."""
