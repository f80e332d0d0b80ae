"""The frontier: who is beaten, who may be, and who is not compared."""

from pathlib import Path
from typing import Any

import pytest
import report_cells

from taskgrain.drive.system import System
from taskgrain.productivity.count import Count
from taskgrain.productivity.frontier import Measured, by_workload, frontier


def count(name: str, lines: int, constructs: int = 1) -> Count:
    system = System(name, Path(), name)
    return Count(system, {"a.cpp": lines}, {f"c{k}": 1 for k in range(constructs)}, constructs)


def row(name: str, metg: float, lines: int, constructs: int = 1, **fields: Any) -> Measured:
    return Measured(count(name, lines, constructs), report_cells.measured(name, metg, **fields))


def test_one_is_beaten_by_a_smaller_metg_with_no_more_lines() -> None:
    rows = [row("fast", 1.0, 100), row("short", 5.0, 10), row("same", 2.0, 100), row("slow", 9.0, 50)]
    assert frontier(rows, "lines") == {"fast": True, "short": True}


def test_constructs_are_another_effort() -> None:
    rows = [row("fast", 1.0, 10, 9), row("few", 5.0, 50, 3), row("both", 9.0, 60, 4)]
    assert frontier(rows, "lines") == {"fast": True}
    assert frontier(rows, "constructs") == {"fast": True, "few": True}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, {"fast": True}),
        ({"low": 0.9}, {"fast": True, "slow": False}),
        ({"low": None}, {"fast": True, "slow": False}),
    ],
)
def test_who_is_beaten_only_perhaps_stays_and_is_marked(
    fields: dict[str, Any], found: dict[str, bool]
) -> None:
    assert frontier([row("fast", 1.0, 10), row("slow", 2.0, 20, **fields)], "lines") == found


def test_of_a_tie_both_may_be_beaten_or_the_longer_one() -> None:
    assert frontier([row("a", 1.0, 10), row("b", 1.0, 10)], "lines") == {"a": False, "b": False}
    assert frontier([row("a", 1.0, 60), row("b", 1.01, 50)], "lines") == {"a": False, "b": True}


def test_who_uses_fewer_cores_or_has_no_number_is_not_compared() -> None:
    without = Measured(count("none", 1), report_cells.cell("none"))
    rows = [row("serial", 1.0, 1, cores=1), without, row("all", 5.0, 10), row("bare", 3.0, 10, 0)]
    assert frontier(rows, "lines") == {"bare": True}
    assert frontier(rows, "constructs") == {"all": True}


def test_no_system_has_no_frontier() -> None:
    assert frontier([], "lines") == {}


def test_cells_are_ordered_by_metg_within_their_workload() -> None:
    cells = [
        report_cells.cell("a", "fft"), report_cells.measured("b", 2.0, "fft"),
        report_cells.measured("c", 1.0, "fft"), report_cells.measured("a", 1.0, "dom"),
        report_cells.measured("unknown", 1.0, "dom"),
    ]  # fmt: skip
    found = by_workload(cells, {name: count(name, 1) for name in "abc"})
    assert {workload: [one.system for one in rows] for workload, rows in found.items()} == {
        "dom": ["a"],
        "fft": ["c", "b", "a"],
    }
