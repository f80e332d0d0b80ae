"""What people write and read: numbers with units, errors, warnings."""
