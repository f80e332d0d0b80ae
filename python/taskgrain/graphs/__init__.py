"""Task graphs of programs: read from files of others, bounded, and laid out in steps."""
