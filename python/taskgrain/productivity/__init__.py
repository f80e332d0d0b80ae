"""The cost of a driver: lines of code, and constructs of the runtime (docs/reference/productivity.md)."""
