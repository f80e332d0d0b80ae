"""Statistics: pure functions from samples to METG and its interval."""
