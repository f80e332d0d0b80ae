"""What a driver in Python imports."""

from taskgrain._core import Run
from taskgrain.system.driver import System, check_memory, drive

__all__ = ["Run", "System", "check_memory", "drive"]
