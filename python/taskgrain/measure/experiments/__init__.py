"""Experiments decide what to run next, and compute the result."""
