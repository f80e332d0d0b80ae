"""Experiments decide what to run next, and say what came of it."""
