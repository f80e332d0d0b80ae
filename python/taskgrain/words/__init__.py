"""The words that people write and read: numbers with units, errors, warnings."""
