"""taskgrain: how small a task may get before a parallel runtime eats the gain."""

__version__ = "0.1.0"
