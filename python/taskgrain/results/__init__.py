"""The results folder: its lines, the store that appends them, exported tables."""
