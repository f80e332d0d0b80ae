"""What `compare` says, in the report."""

from __future__ import annotations

from pathlib import Path

import compared_folders
import pytest

from taskgrain.cli import compare_table, report_changes


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two sessions of one build, and one of a slower one."""
    place = tmp_path_factory.mktemp("sessions")
    first = compared_folders.measured(place / "a", {"mpi": 40e-9, "tbb": 90e-9}, time=0.0)
    again = compared_folders.measured(place / "b", {"mpi": 40e-9, "tbb": 90e-9}, time=compared_folders.DAY)
    slower = {"mpi": 80e-9, "tbb": 90e-9}
    new = compared_folders.measured(place / "c", slower, build="b" * 16, time=2 * compared_folders.DAY)
    return [first, again, new]


def test_the_report_says_what_compare_says(folders: list[Path]) -> None:
    baseline = f"{folders[0]},{folders[1]}"
    found, odd = report_changes.compared(baseline, folders[2])
    assert odd == []
    changes = report_changes.changes(baseline, found)
    assert changes.baseline == baseline
    assert len(changes.cells) == len(found.cells)
    assert changes.cells[0].verdict == "slower"
    cells = {(cell.system, cell.workload): cell for cell in found.cells}
    for one in changes.cells:
        cell = cells[one.system, one.workload]
        assert one.verdict == cell.verdict
        assert one.ratio == compare_table.shown(cell.ratios["metg"])
        assert one.value == cell.ratios["metg"].value
        assert len(one.beside) == len(changes.also)
    assert list(changes.sentences) == compare_table.summary(found)
    assert list(changes.notes) == compare_table.remarks(found)
    assert changes.by == "METG"


def test_what_cannot_be_compared_says_why(folders: list[Path]) -> None:
    found, _ = report_changes.compared(str(folders[0]), folders[2])
    changes = report_changes.changes("before", found)
    assert {one.verdict for one in changes.cells} == {"not comparable"}
    assert all("no scatter between sessions is known" in one.why for one in changes.cells)
