"""How the processes of a driver are started: one file a launcher."""
