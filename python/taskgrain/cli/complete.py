"""Completions for the shell: names of systems, and the values of choices.

The shell calls the program anew for each press of the key, so that nothing here may be slow, and whatever
goes wrong completes to nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence

Completion = Callable[[str], list[str]]


def one_of(names: Sequence[str]) -> Completion:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def systems(incomplete: str) -> list[str]:
    """Completes names of systems with commas between them, each once."""
    from taskgrain.drive import catalogue

    with contextlib.suppress(Exception):  # a shell can show no error
        return listed(incomplete, [*catalogue.discover(), "all", "default"])
    return []


def listed(incomplete: str, names: Iterable[str]) -> list[str]:
    """Completes the last of some names with commas between them."""
    *before, last = incomplete.split(",")
    head = "".join(f"{name}," for name in before)
    return [head + name for name in names if name.startswith(last) and name not in before]
