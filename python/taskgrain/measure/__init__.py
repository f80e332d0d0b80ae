"""Measuring: rounds and budget, and the experiments that say what to run next."""
