"""Drivers as the harness sees them: which systems there are, how one is started, asked and ended."""
