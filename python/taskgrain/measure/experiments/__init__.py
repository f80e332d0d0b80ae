"""What to run next, and what came of it: one module an experiment."""
