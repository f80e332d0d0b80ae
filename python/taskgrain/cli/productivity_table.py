"""The table of what drivers take, beside METG: in a terminal, in Markdown, and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from taskgrain.productivity.count import Count
from taskgrain.productivity.frontier import EFFORTS, Measured, frontier
from taskgrain.words import quantity
from taskgrain.words.table import Table

Workloads = Mapping[str, Sequence[Measured]]
_MAYBE = "?"
"""Stands after what intervals leave open."""


def tables(counts: Sequence[Count], workloads: Workloads, constructs: bool) -> Iterator[Table]:
    """The counts, or for each workload the counts beside METG; then the constructs by name, if wished."""
    if not workloads:
        ordered = sorted(counts, key=lambda one: (one.total, one.system.name))
        columns = ("system", "language", "lines", "with constructs", "constructs")
        rows = [(one.system.name, one.system.language, *_numbers(one)) for one in ordered]
        yield Table("", columns, rows, 2)
    for workload, measured in workloads.items():
        yield _beside_metg(workload, measured)
    if constructs:
        names = [(one.system.name, " ".join(one.constructs) or quantity.NOTHING) for one in counts]
        yield Table("", ("system", "constructs"), names, 2)


def _beside_metg(workload: str, measured: Sequence[Measured]) -> Table:
    frontiers = {kind: frontier(measured, kind) for kind in EFFORTS}
    rows = []
    for one in measured:
        unbeaten = [
            kind if frontiers[kind][one.system] else f"{kind} {_MAYBE}"
            for kind in EFFORTS
            if one.system in frontiers[kind]
        ]
        metg = quantity.interval(one.cell.metg) + one.cell.origin.mark
        cores = quantity.NOTHING if one.cell.cores is None else str(one.cell.cores)
        rows.append((one.system, ", ".join(unbeaten), cores, metg, *_numbers(one.count)))
    columns = ("system", "frontier", "cores", "METG", "lines", "with constructs", "constructs")
    return Table(workload, columns, rows, 2)


def _numbers(count: Count) -> tuple[str, str, str]:
    if not count.constructs:
        return str(count.total), quantity.NOTHING, quantity.NOTHING
    return str(count.total), str(count.lines_with_constructs), str(len(count.constructs))


def markdown(table: Table) -> str:
    """A table in Markdown, with the names of constructs as code."""
    sides = ["---"] * table.texts + ["--:"] * (len(table.columns) - table.texts)
    lines = [table.columns, tuple(sides), *((f"`{name}`", *rest) for name, *rest in table.rows)]
    if table.columns[-1] == "constructs" and table.texts == len(table.columns):
        lines[2:] = [(name, " ".join(f"`{one}`" for one in rest.split())) for name, rest in lines[2:]]
    title = [f"**{table.title}**", ""] if table.title else []
    return "\n".join([*title, *(f"| {' | '.join(line)} |" for line in lines), ""])


def as_json(counts: Sequence[Count], workloads: Workloads) -> dict[str, Any]:
    """The same for programs."""
    return {
        "systems": [_count(one) for one in counts],
        "workloads": [
            {"workload": workload, "systems": _cells(measured)} for workload, measured in workloads.items()
        ],
    }


def _count(count: Count) -> dict[str, Any]:
    system = count.system
    return {
        "system": system.name,
        "title": system.title,
        "language": system.language,
        "sources": dict(count.lines),
        "lines": count.total,
        "lines_with_constructs": count.lines_with_constructs,
        "constructs": dict(count.constructs),
    }


def _cells(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    frontiers = {kind: frontier(measured, kind) for kind in EFFORTS}
    return [
        {
            "system": one.system,
            "cores": one.cell.cores,
            "metg": one.cell.metg.value,
            "low": one.cell.metg.low,
            "high": one.cell.metg.high,
            **one.cell.origin.fields,
            "unbeaten": {
                kind: {True: "yes", False: "unknown", None: "no"}[frontiers[kind].get(one.system)]
                for kind in EFFORTS
            },
        }
        for one in measured
    ]
