"""Finds fields that make no difference to a pattern or a kernel, by asking the core for small graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import lru_cache

from taskgrain._core import InvalidSpec, Unsupported, patterns
from taskgrain.study.workload import core_run

_PROBES: dict[str, tuple[float, float]] = {"radix": (1, 5), "fraction": (0.0, 1.0)}
"""Fields that only some patterns use, with two values that differ in the graphs of these."""
_STEPS, _WIDTH = 4, 16
_OF_IMBALANCE = ("imbalance", "persistent")
_ITERATIONS = 16


def unused(pattern: str, fields: Iterable[str]) -> list[str]:
    """Returns the `fields` that change no graph of the pattern."""
    return [name for name in fields if name in _PROBES and not _differs(pattern, name)]


def unused_by_kernel(kernel: str, fields: Iterable[str]) -> list[str]:
    """Returns the `fields` that change no work of the kernel."""
    return [name for name in fields if name in _OF_IMBALANCE and not _differs_by_imbalance(kernel)]


@lru_cache
def with_radix() -> tuple[str, ...]:
    """The patterns in which the radix says how many dependences a task may have."""
    found = []
    for pattern in patterns():
        with contextlib.suppress(InvalidSpec, Unsupported):  # a dag needs a file
            one, other = (_dependences(pattern, "radix", value, fraction=1.0) for value in _PROBES["radix"])
            found += [pattern] if one != other else []
    return tuple(found)


@lru_cache
def _differs(pattern: str, field: str) -> bool:
    """Tells whether the field makes a difference; also true for a pattern without small graphs."""
    try:
        one, other = (_dependences(pattern, field, value) for value in _PROBES[field])
    except (InvalidSpec, Unsupported):
        return True
    return one != other


def _dependences(pattern: str, field: str, value: float, **others: float) -> list[list[list[int]]]:
    graph = {"pattern": pattern, "steps": _STEPS, "width": _WIDTH, field: value, **others}
    run = core_run([graph])
    return [
        [run.deps(0, step, point) for point in range(first, last + 1)]
        for step in range(_STEPS)
        for first, last in (run.points(0, step),)
    ]


@lru_cache
def _differs_by_imbalance(kernel: str) -> bool:
    """Tells whether an imbalance changes a task's work; also true for a kernel that cannot run so small."""
    try:
        return _work(kernel, 0.0) != _work(kernel, 2.0)
    except (InvalidSpec, Unsupported):
        return True


def _work(kernel: str, imbalance: float) -> object:
    spec = {"name": kernel, "iterations": _ITERATIONS, "imbalance": imbalance}
    graph = {"pattern": "trivial", "steps": 1, "width": 1, "output_bytes": 16, "kernel": spec}
    run = core_run([graph])
    run.execute(0, 0, 0, 0, [])
    return run.accounts()["work"]
