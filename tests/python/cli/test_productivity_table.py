"""Tables of what drivers take: their rows, their marks, and the same for programs."""

from pathlib import Path

import report_cells

from taskgrain.cli.productivity_table import as_json, tables
from taskgrain.drive.system import System
from taskgrain.productivity.count import Count
from taskgrain.productivity.frontier import Measured


def count(name: str, lines: int, *constructs: str) -> Count:
    system = System(name, Path(), name, language="C++")
    return Count(system, {"a.cpp": lines}, dict.fromkeys(constructs, 1), len(constructs))


LONG, SHORT, BARE = count("long", 90, "a", "b"), count("short", 9, "b"), count("bare", 50)
ROWS = [
    Measured(LONG, report_cells.measured("long", 1e-6)),
    Measured(SHORT, report_cells.measured("short", 1.05e-6)),
    Measured(BARE, report_cells.cell("bare", cores=None)),
]


def test_without_results_the_shortest_comes_first() -> None:
    (table,) = tables([LONG, SHORT, BARE], {}, False)
    assert [row[0] for row in table.rows] == ["short", "bare", "long"]
    assert table.rows[1] == ("bare", "C++", "50", "–", "–")


def test_with_results_there_is_a_table_for_each_workload() -> None:
    first, second = tables([LONG, SHORT, BARE], {"fft": ROWS, "dom": ROWS[:1]}, False)
    assert (first.title, second.title) == ("fft", "dom")
    assert first.rows[0] == ("long", "lines ?, constructs ?", "2", "1.00 µs (0.90 – 1.10)", "90", "2", "2")
    assert first.rows[2] == ("bare", "", "–", "–", "50", "–", "–")


def test_json_says_who_is_beaten() -> None:
    document = as_json([LONG], {"fft": ROWS})
    assert document["systems"][0]["constructs"] == {"a": 1, "b": 1}
    (workload,) = document["workloads"]
    assert [one["unbeaten"]["lines"] for one in workload["systems"]] == ["unknown", "yes", "no"]


def test_a_simulated_metg_is_marked() -> None:
    rows = [Measured(LONG, report_cells.measured("long", 1e-6, simulated=True))]
    (table,) = tables([], {"fft": rows}, False)
    assert table.rows[0][3] == "1.00 µs (0.90 – 1.10) (simulated)"
    assert as_json([], {"fft": rows})["workloads"][0]["systems"][0]["simulated"] is True
    assert "simulated" not in as_json([], {"fft": ROWS})["workloads"][0]["systems"][0]
