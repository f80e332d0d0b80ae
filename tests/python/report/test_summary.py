"""The first sentence of the report: which system is best."""

from __future__ import annotations

from pathlib import Path

import pytest
import results_folder
from report_cells import cell, measured, results

from taskgrain.answers import data
from taskgrain.report import summary


def summary_of(folder: Path, cells: dict[str, tuple[float, str]]) -> summary.Best:
    lines = []
    for system, (metg, ending) in cells.items():
        name = results_folder.cell_name(system, "fft")
        lines += [results_folder.cell_line(system, "fft"), results_folder.metg_line(name, metg, ending)]
    (best,) = summary.best(data.read(results_folder.write(folder, lines)))
    return best


def test_the_best_system(tmp_path: Path) -> None:
    best = summary_of(
        tmp_path, {"slow": (5e-5, "precise"), "fast": (1e-6, "precise"), "mid": (3e-6, "budget")}
    )
    assert (best.systems, best.limit, best.lost, best.measured) == (("fast",), "1.00 µs", "half", 3)
    assert (best.worst, best.worst_times) == ("slow", "50 ×")


def test_the_best_system_cannot_be_told(tmp_path: Path) -> None:
    best = summary_of(
        tmp_path, {"one": (1e-6, "precise"), "other": (1.02e-6, "precise"), "open": (9e-6, "always_reached")}
    )
    assert best.systems == ("one", "other")
    assert best.perhaps == ("open ≤ 10.3 µs",)
    assert best.worst == ""


def test_a_tie_is_told_and_what_has_no_bound_has_a_question_mark() -> None:
    limit, ptg = (
        measured("limit", 1.09e-6, low=0.26e-6, high=None),
        measured("ptg", 0.91e-6, low=0.37e-6, high=None),
    )
    (best,) = summary.best(results(limit, ptg, cell("ray", ending="several_crossings")))
    assert (best.contenders, best.worst, best.interval) == (("ptg", "limit"), "", "(0.37 – ? µs)")


def test_a_slow_system_of_which_little_is_known_is_not_called_the_best(tmp_path: Path) -> None:
    lines = []
    for system, metg in (("fast", 1e-6), ("slow", 1e-3)):
        line = results_folder.metg_line(results_folder.cell_name(system, "fft"), metg)
        if system == "slow":
            line["low"] = 1e-7
        lines += [results_folder.cell_line(system, "fft"), line]
    (best,) = summary.best(data.read(results_folder.write(tmp_path, lines)))
    assert (best.systems, best.unsure, best.worst) == (("fast",), ("slow",), "")


def test_the_best_system_is_only_bounded(tmp_path: Path) -> None:
    best = summary_of(tmp_path, {"open": (1e-7, "always_reached"), "closed": (1e-6, "precise")})
    assert (best.systems, best.at_most, best.limit) == (("open",), True, "115 ns")
    assert best.worst == "closed"


def test_one_round_tells_about(tmp_path: Path) -> None:
    lines = []
    for system, metg in (("fast", 1e-6), ("slow", 1e-3)):
        line = results_folder.metg_line(results_folder.cell_name(system, "fft"), metg, "budget")
        line["rounds"] = 1 if system == "slow" else 2
        lines += [results_folder.cell_line(system, "fft"), line]
    (best,) = summary.best(data.read(results_folder.write(tmp_path, lines)))
    assert (best.limit, best.worst_limit) == ("1.00 µs", "about 1.00 ms")


@pytest.mark.parametrize(
    ("ending", "one", "two"),
    [
        ("failed", "1 failed", "2 failed"),
        ("unfinished", "1 is unfinished", "2 are unfinished"),
        ("never_reached", "1 never reached the threshold", "2 never reached the threshold"),
        ("always_reached", "1 gave only an upper bound", "2 gave only an upper bound"),
        ("several_crossings", "1 crossed the threshold more than once", "2 crossed the threshold more than"),
        ("at", "1 gave no number", "2 gave no number"),
    ],
)
def test_cells_without_a_number_are_counted(ending: str, one: str, two: str) -> None:
    known, open_ = measured("a", 1e-6), cell(ending=ending)
    assert summary.troubles(results(known, open_)) == f"Of 2 cells, {one}."
    assert summary.troubles(results(known, open_, open_)).startswith(f"Of 3 cells, {two}")


def test_the_most_frequent_trouble_comes_first() -> None:
    failed, unfinished = cell(ending="failed"), cell(ending="unfinished")
    troubles = summary.troubles(results(failed, unfinished, unfinished))
    assert troubles == "Of 3 cells, 2 are unfinished, 1 failed."
    refused = results(failed, cell("a", ending="failed", error="unsupported"))
    assert summary.troubles(refused) == "Of 2 cells, 1 failed, 1 is not supported by its system."
    assert summary.troubles(results(measured("a", 1e-6))) == summary.troubles(results()) == ""


def test_a_system_that_leaves_cores_unused_is_no_match() -> None:
    found = results(measured("half", 1e-7, cores=1), measured("whole", 1e-6), measured("slow", 5e-6))
    (best,) = summary.best(found)
    assert (best.systems, best.measured, best.worst) == (("whole",), 2, "slow")


def test_a_workload_without_any_number_has_no_best() -> None:
    crossings = cell("b", "fft", ending="several_crossings")
    found = results(cell("a", "fft", ending="failed"), crossings, measured("a", 1e-6, "dom", threshold=0.8))
    (best,) = summary.best(found)
    assert (best.workload, best.lost) == ("dom", "20 %")


def test_bounds_alone_are_no_best() -> None:
    assert summary.best(results(measured("limit", 1e-7, bound=True))) == ()
