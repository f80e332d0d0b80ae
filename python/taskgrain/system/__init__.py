"""The names that a driver in Python imports."""

from taskgrain._core import Run, binding_of_this_thread, cores, pin_this_thread
from taskgrain.system.driver import System, check_memory, drive

__all__ = ["Run", "System", "binding_of_this_thread", "check_memory", "cores", "drive", "pin_this_thread"]
