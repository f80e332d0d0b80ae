"""The efficiency curves of results folders."""

from pathlib import Path

import pytest
from results_folder import MACHINE, cell_line, cell_name, metg_line, write

from taskgrain.results import curves
from taskgrain.words.errors import UsageError
from taskgrain.words.interval import Interval

CELL = cell_name("mpi", "nearest/radix=5")
SESSION = {"schema": 1, "kind": "session", "session": "a", "machine": "f00d", "cores": [0, 1], "systems": []}


def ended(**changes: object) -> dict[str, object]:
    return metg_line(CELL, 4e-6) | changes


def folder(path: Path, *lines: dict[str, object]) -> Path:
    return write(path, [SESSION, cell_line("mpi", "nearest/radix=5"), *lines])


def test_a_curve_knows_its_cell_and_where_it_comes_from(tmp_path: Path) -> None:
    (found,) = curves.opened(folder(tmp_path, ended(disturbed_runs=3, runs=12)))[0]
    assert (found.cell.system, found.workload.name) == ("mpi", "nearest/radix=5/width=16")
    assert (found.cores, found.cell.session.machine, found.folder) == (2, "f00d", tmp_path)
    assert found.machine == MACHINE["cpu"]["model"]  # type: ignore[index]
    assert found.cell.result and found.cell.result.threshold == 0.5
    assert (found.cell.time, found.cell.disturbed) == (1.7e9, 0.25)
    for work, one in found.points.items():
        assert one.known and (one.low or 1.0) < one.number < (one.high or 0.0)
        assert one.value == pytest.approx(work / (work + 2e-6), rel=0.05)


def test_what_a_search_was_for_is_known_better(tmp_path: Path) -> None:
    (found,) = curves.opened(folder(tmp_path, ended(low=3.9e-6, high=4.1e-6)))[0]
    assert found.needed(0.5) == Interval(2e-6, 1.95e-6, 2.05e-6)
    assert found.needed(0.8) is None
    (none,) = curves.opened(folder(tmp_path, ended(metg=None, ending="budget")))[0]
    assert none.needed(0.5) is None


def test_the_last_line_of_a_cell_counts(tmp_path: Path) -> None:
    (found,) = curves.opened(folder(tmp_path, ended(), ended(metg=8e-6)))[0]
    assert found.cell.metg.value == 8e-6


def test_a_correlated_curve_has_wider_intervals(tmp_path: Path) -> None:
    (narrow,) = curves.opened(folder(tmp_path, ended()))[0]
    (wide,) = curves.opened(folder(tmp_path, ended(inflation=4.0)))[0]
    for one, other in zip(narrow.points.values(), wide.points.values(), strict=True):
        assert one.value == other.value and one.low and other.low
        assert other.low / other.number == pytest.approx((one.low / one.number) ** 2)


def test_a_size_of_one_run_has_a_value_alone(tmp_path: Path) -> None:
    line = ended()
    first, *others = line["curve"]  # type: ignore[misc]
    bare = first | {"efficiency_low": None, "efficiency_high": None}
    curve = [bare, first | {"granularity": None}, *others]
    (found,) = curves.opened(folder(tmp_path / "r", line | {"curve": curve}))[0]
    assert len(found.points) == 1 + len(others) == len(found.sizes)
    assert found.points[min(found.points)] == Interval(first["efficiency"])
    said = line | {"curve": curve, "warnings": [{"code": "start_dominates", "start": 1.0, "share": 0.9}]}
    (mostly_start,) = curves.opened(folder(tmp_path / "s", said))[0]
    assert not mostly_start.points


def test_a_cell_that_has_not_ended_has_no_curve(tmp_path: Path) -> None:
    for lines in ([], [ended(ending="unfinished")]):
        assert curves.opened(folder(tmp_path, *lines))[0] == []
    with pytest.raises(UsageError, match=r"is .* a results folder"):
        curves.opened(tmp_path / "nothing")[0]


def test_a_cell_that_failed_says_why_it_has_no_curve(tmp_path: Path) -> None:
    failure = {"schema": 1, "kind": "failure", "cell": CELL, "error": "crash", "message": "it ended"}
    for name, more in (("ended", [ended(ending="failed")]), ("killed", [])):
        (found,) = curves.opened(folder(tmp_path / name, failure, *more))[0]
        assert (found.points, found.problem) == ({}, "crash: it ended")
    (fine,) = curves.opened(folder(tmp_path / "fine", ended()))[0]
    assert fine.points and not fine.problem
