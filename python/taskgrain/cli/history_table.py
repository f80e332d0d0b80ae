"""A history in a terminal, and for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from taskgrain.answers.compare.text import called
from taskgrain.cli.printer import Printer
from taskgrain.estimate.quantities import Quantity
from taskgrain.history.series import UNITS
from taskgrain.history.text import newest, over_all, session, summary, why
from taskgrain.history.trends import Change, History, Trend
from taskgrain.words import quantity
from taskgrain.words.interval import Interval

_BARS = "▁▂▃▄▅▆▇█"
_NOTHING, _FAILED = "·", "x"
_NEWEST = 24
"""The sessions that a line of bars shows."""
_WHOLE = 1.25
"""Bars of all heights mean this factor at least: noise is not to look like a mountain."""


def show(out: Printer, history: History) -> None:
    """A line for each series, then all changes, and what else there is to know."""
    for sentence in summary(history):
        out.text(sentence)
    if not history.trends:
        return
    by = history.question.by
    names = _names(history.trends)
    heads = ["", called(by), "sessions", "verdict"]
    rows = [
        [name, newest(one, by), bars(one, _NEWEST), one.verdict]
        for name, one in zip(names, history.trends, strict=True)
    ]
    bold = [[False, False, False, one.regression] for one in history.trends]
    out.table(heads, rows, bold)
    changes = [
        [name, quantity.ratio_interval(one.ratio), one.decision]
        + [session(entry) for entry in (one.before, one.after)]
        for name, each in zip(names, history.trends, strict=True)
        for one in each.changes
    ]
    if changes:
        heads = ["changes", "ratio", "", "last before", "first after"]
        out.table(heads, changes)
    for said in _notes(history, names):
        out.text(said)


def _names(trends: Sequence[Trend]) -> list[str]:
    """Names of series, with the mark of their origin; those of one cell are numbered."""
    found: list[str] = []
    for one in trends:
        number = 1 + sum(name.partition(" ")[0] == one.series.name for name in found)
        number_of = f" #{number}" if number > 1 else ""
        found.append(one.series.name + one.series.origin.mark + number_of)
    return found


def bars(one: Trend, most: int) -> str:
    """The newest sessions, so many at most, as bars on a logarithmic scale: the largest is the highest."""
    logs = [_log(number) for number in one.numbers[-most:]]
    failed = [entry.failed for entry in one.series.entries[-most:]]
    known = [one for one in logs if one is not None]
    least, top = (min(known), max(known)) if known else (0.0, 0.0)
    room = max(0.0, math.log(_WHOLE) - (top - least)) / 2.0
    least, top = least - room, top + room
    bar = (top - least) / len(_BARS)
    marks = [
        _NOTHING if log is None else _BARS[min(len(_BARS) - 1, int((log - least) / bar))] for log in logs
    ]
    return "".join(_FAILED if wrong else mark for mark, wrong in zip(marks, failed, strict=True))


def _log(number: Interval | None) -> float | None:
    known = number and (number.value or number.low or number.high)
    return math.log(known) if known else None


def _notes(history: History, names: Sequence[str]) -> list[str]:
    apart: dict[str, list[str]] = {}
    for name, one in zip(names, history.trends, strict=True):
        if one.series.apart:
            apart.setdefault(one.series.apart, []).append(name)
    notes = [f"{', '.join(some)}: apart, {reason}." for reason, some in apart.items()]
    for name, one in zip(names, history.trends, strict=True):
        if one.verdict == "failed" or one.known:
            notes.append(f"{name}: {why(one, history)}.")
        elif one.over_all:
            notes.append(f"{name}: {over_all(one, history.question.by)}.")
        for change in one.changes:
            if change.hosts:
                notes.append(
                    f"{name}: measured on another host since {session(change.after)}: {change.hosts}."
                )
        if one.outlying:
            far = ", ".join(session(one.series.entries[i]) for i in sorted(one.outlying))
            notes.append(f"{name}: far from their level, and not counted: {far}.")
    if any(change.decision == "other host" for one in history.trends for change in one.changes):
        notes.append(
            "A change that comes with another host is not judged: the host may be slower, and not the "
            "system. --across-hosts judges it all the same."
        )
    if any(one.verdict == "too few sessions" for one in history.trends):
        notes.append(f"A change can be seen from {history.enough} sessions on.")
    if history.missing:
        notes.append(f"The newest session lacks {', '.join(history.missing)}.")
    scatter = [one.scatter for one in history.trends if one.scatter is not None]
    if scatter:
        low, high = (quantity.percent(end, 1) for end in (min(scatter), max(scatter)))
        notes.append(f"Sessions of a level scatter by {low} to {high} (standard deviation).")
    return notes


def as_json(history: History) -> dict[str, Any]:
    """The history for programs (docs/reference/history.md)."""
    by = history.question.by
    return {
        "schema": 1,
        "by": by,
        "unit": UNITS[by],
        "margin": history.question.margin,
        "confidence": history.question.confidence,
        "interval_confidence": history.confidence,
        "sessions_needed": history.enough,
        "regressions": sum(one.regression for one in history.trends),
        "undecided": sum(one.undecided for one in history.trends),
        "missing": list(history.missing),
        "series": [_series(one, by, history) for one in history.trends],
    }


def _series(one: Trend, by: Quantity, history: History) -> dict[str, Any]:
    size, clock = one.series.size(), one.series.clock
    places = {id(entry): place for place, entry in enumerate(one.series.entries)}
    return {
        "system": one.series.system,
        "workload": one.series.workload,
        "machine": one.series.entries[0].measurement.session.machine,
        **one.series.origin.fields,
        "apart": one.series.apart or None,
        "clock": clock if one.series.clocks else None,
        "iterations": size if by == "rate" else None,
        "verdict": one.verdict,
        "why": why(one, history),
        "regression": one.regression,
        "known": one.known,
        "scatter": one.scatter,
        "levels": [{"first": first, "last": last, "value": mean} for first, last, mean in one.levels],
        "changes": [_change(each, places) for each in one.changes],
        "over_all": one.over_all and _change(one.over_all, places),
        "sessions": [
            {
                "label": entry.log.label,
                "time": entry.log.time,
                "host": entry.measurement.session.where,
                "boot": entry.measurement.session.boot,
                "build": entry.measurement.build,
                "version": entry.measurement.version,
                "ending": entry.measurement.cell.ending,
                "error": entry.measurement.cell.error or None,
                "outlying": place in one.outlying,
                "clock": entry.clock and entry.clock / clock,
                "measured": asdict(entry.number(by, size) or Interval()),
            }
            | asdict(number or Interval())
            for place, (entry, number) in enumerate(zip(one.series.entries, one.numbers, strict=True))
        ],
    }


def _change(one: Change, places: Mapping[int, int]) -> dict[str, Any]:
    return {
        "before": places[id(one.before)],
        "after": places[id(one.after)],
        "ratio": {"value": one.ratio.value, "low": one.ratio.low, "high": one.ratio.high},
        "verdict": one.decision,
        "hosts": one.hosts or None,
    }
