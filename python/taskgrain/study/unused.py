"""Which fields make no difference to a pattern, found by asking the core for small graphs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache

from taskgrain._core import InvalidSpec, Run, Unsupported

_PROBES: dict[str, tuple[float, float]] = {"radix": (1, 5), "fraction": (0.0, 1.0)}
"""Fields that only some patterns use, with two values that differ in the graphs of these."""
_STEPS, _WIDTH = 4, 16


def unused(pattern: str, fields: Iterable[str]) -> list[str]:
    """Those of `fields` that change no graph of the pattern."""
    return [name for name in fields if name in _PROBES and not _differs(pattern, name)]


@lru_cache
def _differs(pattern: str, field: str) -> bool:
    """Whether the field makes a difference; also true for a pattern of which no small graph can be made."""
    try:
        one, other = (_dependences(pattern, field, value) for value in _PROBES[field])
    except (InvalidSpec, Unsupported):
        return True
    return one != other


def _dependences(pattern: str, field: str, value: float) -> list[list[list[int]]]:
    graph = {"pattern": pattern, "steps": _STEPS, "width": _WIDTH, field: value}
    run = Run(json.dumps({"op": "run", "graphs": [graph], "validate": "off"}))
    return [
        [run.deps(0, step, point) for point in range(first, last + 1)]
        for step in range(_STEPS)
        for first, last in (run.points(0, step),)
    ]
