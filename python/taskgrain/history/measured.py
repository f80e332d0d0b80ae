"""A session for the history, from the results folder that it measured."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from taskgrain.estimate.drawn import Quantity
from taskgrain.history.session import Cell, Session
from taskgrain.results.lines import MetgLine
from taskgrain.results.takes import Take, opened
from taskgrain.words import quantity
from taskgrain.words.endings import Ending
from taskgrain.words.errors import UsageError
from taskgrain.words.interval import Interval

_KEPT: tuple[Quantity, ...] = ("metg", "overhead", "floor")
_THRESHOLD = 0.5
"""Where an older folder does not say it."""
_NEAR = (0.5, 1.5)
"""Rates are kept of tasks whose efficiency is between these times the threshold."""


def measured(folder: Path, label: str | None = None, time: float | None = None) -> tuple[Session, list[str]]:
    """What a results folder says of its cells, and what is odd about it.

    `label` and `time` (Unix time) are those of the measurement if they are not given. Raises `UsageError` if
    the folder cannot be read, or has nothing that can be kept.
    """
    found = opened(folder)
    warnings = list(found.warnings)
    takes = [one for one in found.takes if not one.earlier]
    unsupported = [one for one in takes if one.stands.error == "unsupported"]
    takes = [one for one in takes if one not in unsupported]
    if unsupported:
        missing = quantity.counted(len(unsupported), "cell")
        warnings.append(f"{missing} that the system does not support, left out")
    kept = [one for one in takes if one.stands.ending.final]
    if len(kept) < len(takes):
        missing = quantity.counted(len(takes) - len(kept), "cell")
        warnings.append(f"{missing} without a result yet, left out")
    known = [one for one in kept if one.conditions.machine and one.conditions.reference_build]
    if not found.sessions or (kept and not known):
        raise UsageError(
            f"{folder}: does not say on which machine, or with which reference, it was measured; measure it "
            "again with this version of taskgrain"
        )
    if not known:
        raise UsageError(f"{folder}: no cell has a result yet")
    if len(known) < len(kept):
        missing = quantity.counted(len(kept) - len(known), "cell")
        warnings.append(f"{missing} of an unknown machine or reference, left out")
    begins = [one.begin for one in known if one.begin is not None]
    begin = min(begins, default=None)
    at = time if time is not None else begin
    if at is None:
        raise UsageError(f"{folder}: does not say when it was measured; give --time")
    name = label or datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
    return Session(name, at, found.sessions, tuple(map(_cell, known)), begin), warnings


def _cell(take: Take) -> Cell:
    bare = Take(
        Path(), take.system, take.workload, take.build, conditions=take.conditions, cores=take.cores,
        version=take.version,
    )  # fmt: skip
    stands, line = take.stands, take.stands.result
    if stands.ending is Ending.FAILED or line is None:
        return Cell(bare, "failed", stands.error)
    numbers = {name: stands.number(name) for name in _KEPT}
    known = {name: one for name, one in numbers.items() if one != Interval()}
    return Cell(bare, line.ending, None, known, dict(_rates(line, take.cores)))


def _rates(line: MetgLine, cores: int | None) -> Iterator[tuple[int, Interval]]:
    low, high = (times * (line.threshold or _THRESHOLD) for times in _NEAR)
    for point in line.curve:
        near = point.efficiency is not None and low <= point.efficiency <= high
        if near and cores and point.iterations and point.granularity:
            ends = (end and cores / end for end in (point.granularity_high, point.granularity_low))
            yield round(point.iterations), Interval(cores / point.granularity, *ends)
