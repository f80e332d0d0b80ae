"""What a driver takes: lines of code, and constructs of the runtime (docs/reference/productivity.md)."""
