"""Checks of the values of a results folder.

Each function takes any value of JSON, and returns None for one that makes no sense.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from taskgrain.words.endings import Ending
from taskgrain.words.warnings import read_notice

Warning = Mapping[str, Any]
"""A code with its values."""
LARGEST = 2**63
"""Integers are below it, as in the driver protocol."""
HUGE = 1e40
"""The bound of numbers, and the inverse of the least positive one: arithmetic on them stays finite."""


def text(value: object) -> str | None:
    """A text. JSON can spell half a surrogate pair, which no file can hold: it becomes U+FFFD."""
    if not isinstance(value, str):
        return None
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def ending(value: object) -> Ending | None:
    """The reason why a cell ended."""
    return next((one for one in Ending if one == value), None)


def flag(value: object) -> bool | None:
    """A truth value."""
    return value if isinstance(value, bool) else None


def integer(value: object) -> int | None:
    """A count: an integer from 0 to 2^63 - 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < LARGEST else None


def ordinal(value: object) -> int | None:
    """A place in a row: an integer from 1 to a million."""
    found = integer(value)
    return found if found is not None and 1 <= found < 10**6 else None


def number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if abs(found) < HUGE else None


def amount(value: object) -> float | None:
    """A number, not below 0."""
    found = number(value)
    return found if found is not None and found >= 0.0 else None


def positive(value: object) -> float | None:
    """A number above 0."""
    found = number(value)
    return found if found is not None and found > 1.0 / HUGE else None


def share(value: object) -> float | None:
    """A number between 0 and 1."""
    found = positive(value)
    return found if found is not None and found < 1.0 else None


def table(value: object) -> Mapping[str, Any] | None:
    """An object of JSON."""
    return value if isinstance(value, dict) else None


def warning(value: object) -> Warning | None:
    """A warning, which has a code."""
    if not isinstance(value, dict) or read_notice(value) is None:
        return None
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return None
    return value


def places(value: object) -> tuple[int, ...] | None:
    """Numbers of processors."""
    found = [integer(one) for one in value] if isinstance(value, list) else [None]
    return None if None in found else tuple(one for one in found if one is not None)
