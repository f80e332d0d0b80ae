"""The ways to start the processes of a driver: one file a launcher."""
