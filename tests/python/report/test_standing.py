"""Which systems may be the best: a bound that is missing is infinite."""

from __future__ import annotations

from pathlib import Path

import pytest
import results_folder
from report_cells import measured

from taskgrain.report import data, standing, summary
from taskgrain.report.cells import Ratio, Results

Known = tuple[float | None, float | None, float | None]
"""METG and its bounds."""


def results(folder: Path, cells: dict[str, Known], endings: dict[str, str] | None = None) -> Results:
    lines = []
    for system, (metg, low, high) in cells.items():
        ending = (endings or {}).get(system, "budget")
        line = results_folder.metg_line(results_folder.cell_name(system, "fft"), metg or 1e-6, ending)
        line |= {"metg": metg, "low": low, "high": high}
        lines += [results_folder.cell_line(system, "fft"), line]
    return data.read(results_folder.write(folder, lines))


def systems(cells: tuple[standing.Cell, ...]) -> list[str]:
    return [cell.system for cell in cells]


@pytest.mark.parametrize(
    ("cells", "ties", "behind"),
    [
        ({"a": (1e-6, 0.9e-6, 1.1e-6), "b": (2e-6, 1.5e-6, 3e-6)}, ["a"], ["b"]),
        ({"a": (1e-6, 0.9e-6, 1.1e-6), "b": (2e-6, 1.0e-6, 3e-6)}, ["a", "b"], []),
        ({"a": (1e-6, 0.9e-6, None), "b": (2e-6, 1.5e-6, 3e-6)}, ["a", "b"], []),
        ({"a": (1e-6, 0.9e-6, 1.1e-6), "b": (2e-6, None, 3e-6)}, ["a", "b"], []),
        ({"a": (1e-6, 0.9e-6, 1.1e-6), "b": (2e-6, 1.5e-6, None)}, ["a"], ["b"]),
        ({"a": (1e-6, None, None), "b": (2e-6, 1.9e-6, 2.1e-6), "c": (9e-6, 8e-6, 9e-6)}, ["a", "b"], []),
        # b may be better than a, and c worse than both: it is neither among the best nor behind all of them.
        (
            {"a": (1e-6, 0.9e-6, 1.1e-6), "b": (2e-6, 1e-6, 9e-6), "c": (3e-6, 2e-6, 4e-6)},
            ["a", "b"],
            [],
        ),
    ],
)
def test_a_missing_bound_is_infinite(
    tmp_path: Path, cells: dict[str, Known], ties: list[str], behind: list[str]
) -> None:
    found = standing.of(results(tmp_path, cells).cells)
    assert (systems(found.ties), systems(found.behind)) == (ties, behind)


def test_a_tie_is_told_and_what_has_no_number_named(tmp_path: Path) -> None:
    cells = {
        "limit": (1.09e-6, 0.26e-6, None),
        "ptg": (0.91e-6, 0.37e-6, None),
        "ray": (None, None, None),
    }
    found = results(tmp_path, cells, {"ray": "several_crossings"})
    (best,) = summary.best(found)
    assert best.contenders == ("ptg", "limit")
    assert best.worst == ""
    assert best.interval == "(0.37 – ? µs)"


def test_nothing_known_is_no_standing(tmp_path: Path) -> None:
    found = results(tmp_path, {"ray": (None, None, None)}, {"ray": "several_crossings"})
    assert standing.of(found.cells).ties == ()
    assert summary.best(found) == ()


def test_a_ratio_decides_where_intervals_overlap() -> None:
    first, wide = measured("a", 1e-6), {"low": 0.5e-6, "high": 3e-6}
    to = first.name
    slower = measured("b", 1.2e-6, ratios=(Ratio(to, 1.2, 1.1, 1.3),), **wide)
    tied = measured("c", 1.3e-6, ratios=(Ratio(to, 1.3, 0.9, 1.8),), **wide)
    unbounded = measured("d", 1.4e-6, ratios=(Ratio(to, 1.4, None, 1.8),), **wide)
    found = standing.of([unbounded, tied, slower, first])
    assert [one.system for one in found.ties] == ["a", "c", "d"]
    assert [one.system for one in found.behind] == ["b"]
