"""METG and the overhead of all cells for the tools of people's CI (docs/reference/export.md): dashboards that
follow numbers over time know each by its name, and a pull request gets a table.

The names do not depend on the session or on what else a study has. A cell without a number is no number: it
is left out, and a warning says so. Times are nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from taskgrain import __version__
from taskgrain.results import columns, outcome, ranking
from taskgrain.results.cell import Cell, cells
from taskgrain.results.columns import Shown
from taskgrain.results.reader import Contents
from taskgrain.words import quantity
from taskgrain.words.errors import UsageError
from taskgrain.words.interval import Interval

_QUANTITIES = ("metg", "overhead")
_DIGITS = 6


@dataclass(frozen=True)
class Row:
    """A number of a cell."""

    cell: Cell
    quantity: str
    number: Interval
    """Nanoseconds."""

    @property
    def benchmark(self) -> str:
        """The cell: `mpi/stencil_1d/width=16`, after `simulated/` if it is."""
        return "simulated/" * self.cell.origin.simulated + self.cell.name

    @property
    def name(self) -> str:
        """The name by which a dashboard knows it: `mpi/stencil_1d/width=16/metg`."""
        return f"{self.benchmark}/{self.quantity}"

    @property
    def bounds(self) -> dict[str, float]:
        """The ends of the interval that are known."""
        found = {"low": self.number.low, "high": self.number.high}
        return {name: one for name, one in found.items() if one is not None}


def made(contents: Contents, kind: str) -> tuple[bytes, list[str]]:
    """A folder in one of `FORMATS`, and the cells left out. Raises `UsageError` if nothing is left."""
    every = list(cells(contents.shown).values())
    found = [one for one in every if not one.earlier]
    if kind != "markdown" and not any(map(_known, found)):  # a dashboard would show the last
        raise UsageError("; ".join([*contents.notes(), "no cell has a METG with an interval"]))
    left_out = []
    if earlier := len(every) - len(found):
        left_out = [f"{quantity.counted(earlier, 'cell')} of earlier builds or other machines left out"]
    if kind != "markdown":
        left_out += [
            f"{cell.name}: has no METG with an interval ({outcome.short(cell)}), and is left out"
            for cell in found
            if not _known(cell)
        ]
    return FORMATS[kind](found).encode("utf-8", "replace"), left_out


def rows(found: Sequence[Cell]) -> list[Row]:
    """All numbers that there are."""
    every = [(cell, name, cell.number(name)) for cell in found if _known(cell) for name in _QUANTITIES]
    return [Row(cell, name, _nanoseconds(number)) for cell, name, number in every if number.value]


def _known(cell: Cell) -> bool:
    """Tells whether a cell has a METG with an interval: a number without one would set off alarms."""
    return bool(cell.metg.value) and cell.metg.known


def _nanoseconds(number: Interval) -> Interval:
    parts = (number.value, number.low, number.high)
    return Interval(*(None if one is None else float(f"{1e9 * one:.{_DIGITS}g}") for one in parts))


def _github_action_benchmark(found: Sequence[Cell]) -> str:
    """Writes what its tool `customSmallerIsBetter` reads."""
    return _json(
        [
            {"name": row.name, "unit": "ns", "value": row.number.value}
            | ({"range": " – ".join(f"{one:g}" for one in row.bounds.values())} if row.number.known else {})
            | {"extra": _extra(row.cell)}
            for row in rows(found)
        ]
    )


def _extra(cell: Cell) -> str:
    known = [cell.ending.shown]
    known += [quantity.counted(steps, "step")] if (steps := columns.steps(cell)) else []
    known += [quantity.counted(cell.cores, "core")] if cell.cores else []
    known += [quantity.counted(len(cell.warnings), "warning")] if cell.warnings else []
    return ", ".join(known)


def _bencher(found: Sequence[Cell]) -> str:
    """The Bencher Metric Format: benchmark, measure, numbers."""
    made: dict[str, dict[str, Any]] = {}
    for row in rows(found):
        bounds = {f"{'lower' if name == 'low' else 'upper'}_value": one for name, one in row.bounds.items()}
        made.setdefault(row.benchmark, {})[row.quantity] = {"value": row.number.value} | bounds
    return _json(made)


def _google_benchmark(found: Sequence[Cell]) -> str:
    """Writes what programs of Google Benchmark print with `--benchmark_format=json`. The ends of the interval
    are counters of the user's."""
    last = max((one.last.time or 0.0 for one in found if one.last), default=0.0)
    context = {
        "date": datetime.fromtimestamp(last, UTC).isoformat(timespec="seconds"),
        "executable": "taskgrain",
        "num_cpus": max(one.cores or 1 for one in found),
    }
    context |= {"caches": [], "load_avg": [], "json_schema_version": 1}
    context |= {"library_version": __version__, "library_build_type": "release"}
    once = {"run_type": "iteration", "per_family_instance_index": 0, "repetitions": 1, "repetition_index": 0}
    benchmarks = [
        {"name": row.name, "run_name": row.name, "family_index": index, "threads": row.cell.cores or 1}
        | {"iterations": (row.cell.result and row.cell.result.rounds) or 1}
        | {"real_time": row.number.value, "cpu_time": row.number.value, "time_unit": "ns"}
        | once
        | row.bounds
        for index, row in enumerate(rows(found))
    ]
    return _json({"context": context, "benchmarks": benchmarks})


def _markdown(found: Sequence[Cell]) -> str:
    """A table in the Markdown of GitHub: all cells by workload and METG, the best ones in bold."""
    ranking.mark_best(found)
    shown = columns.shown(Shown.TERMINAL)
    heads = ["system", "workload", *(one.heading for one in shown)]
    lines = [heads, ["---", "---", *("--:" if one.numeric else "---" for one in shown)]]
    for here in ranking.by_workload(found).values():
        order = ranking.systems(here)
        for cell in sorted(here, key=lambda one: order.index(one.system)):
            texts = [cell.called, cell.workload, *(one.text(cell) for one in shown)]
            lines.append([f"**{one}**" if cell is cell.best else one for one in map(_escaped, texts)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _escaped(text: str) -> str:
    """A text that a driver may have written, as it stands: no column, no line and no link of its own."""
    text = " ".join(text.split())
    return "".join(f"\\{one}" if one in "\\|*_`<>[]~" else one for one in text)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


FORMATS: dict[str, Callable[[Sequence[Cell]], str]] = {
    "github-action-benchmark": _github_action_benchmark,
    "bencher": _bencher,
    "google-benchmark": _google_benchmark,
    "markdown": _markdown,
}
