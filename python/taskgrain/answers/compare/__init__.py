"""Results compared with each other: the sides, the cells that can be compared, and the verdicts."""
