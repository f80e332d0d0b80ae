"""The names that a mistyped one may stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MOST = 3
_ALIKE = 0.75
"""The likeness that two names need, from 0 to 1 as difflib counts it: one letter of three may be wrong."""
_LONGEST = 60
"""The longest text that may be a mistyped name; to compare longer ones would take long."""


def nearest(value: object, names: Iterable[str]) -> list[str]:
    """Returns at most three of `names`, the likeliest first; none where nothing is alike.

    `stencl_1d` is near to `stencil_1d`, and so is `Stencil-1D`; `openmp` is the beginning of two names.
    """
    if not isinstance(value, str) or not 1 < len(value) <= _LONGEST:
        return []
    own = {name: bare(name) for name in names}
    wanted = bare(value)
    if not wanted:
        return []
    same = [name for name, one in own.items() if one == wanted]
    if same:
        return same[:_MOST]
    import difflib  # here, because hardly a command needs it

    score = {name: difflib.SequenceMatcher(None, wanted, one).ratio() for name, one in own.items()}
    begun = [name for name, one in own.items() if one.startswith(wanted) or (one and wanted.startswith(one))]
    alike = [name for name, found in score.items() if found >= _ALIKE]
    found = dict.fromkeys([*begun, *alike])
    return sorted(found, key=lambda name: (-score[name], name))[:_MOST]


def question(value: object, names: Iterable[str]) -> str:
    """`Did you mean mpi or mpi_rma?`; empty where nothing is alike."""
    found = nearest(value, names)
    return f"Did you mean {either(found)}?" if found else ""


def either(names: Sequence[str]) -> str:
    """One of some names, at least one: `a`, `a or b`, `a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def bare(name: str) -> str:
    """A name without what people write in different ways: case, and what stands between words."""
    return re.sub(r"[\s_.-]+", "", name).lower()
