"""Warnings that differ in their numbers alone, said once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NUMBER = re.compile(r"\d+(\.\d+)?")


@dataclass(frozen=True)
class Notice:
    """A warning and the cells it is about; the text is that of the first of them."""

    text: str
    cells: tuple[str, ...]


def grouped(warnings: Iterable[tuple[str, str]]) -> list[Notice]:
    """Of pairs (cell, warning), one notice for each kind of warning, in order of appearance."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for cell, warning in warnings:
        kinds.setdefault(_NUMBER.sub("0", warning), []).append((cell, warning))
    return [Notice(found[0][1], tuple(dict.fromkeys(cell for cell, _ in found))) for found in kinds.values()]
