"""Results compared with each other: which sides, which cells can be compared, and what came of it."""
