"""taskgrain: how small a task may get before a parallel runtime eats the gain."""

from pathlib import Path

__version__ = "0.1.0"

_CHECKOUT = Path(__file__).parents[2]
if (_CHECKOUT / "tools" / "build").exists():
    # What is built lies apart from the modules, because `make setup` replaces it as a whole.
    __path__.append(str(_CHECKOUT / "build" / "installed" / "taskgrain"))
