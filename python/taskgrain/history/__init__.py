"""The history of systems over many sessions: its store, its series, and what changed in them."""
