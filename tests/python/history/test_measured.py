"""A session from the results folder that it measured."""

from __future__ import annotations

from pathlib import Path

import compared_folders
import history_store as made
import pytest

from taskgrain.history.measured import measured
from taskgrain.words.errors import UsageError
from taskgrain.words.interval import Interval


def test_the_numbers_of_a_cell(tmp_path: Path) -> None:
    folder = made.folder(tmp_path / "r", made.metg("mpi", 1e-6, made.BEGIN), name="11112222")
    found, warnings = measured(folder, "c1")
    assert (found.label, found.time, found.measured) == ("c1", made.BEGIN, made.BEGIN)
    assert found.names == ("11112222",) and warnings == []
    (cell,) = found.cells
    take = cell.take
    assert (take.system, take.workload) == ("mpi", "stencil_1d/width=4")
    assert (take.build, take.version, take.cores) == ("aaaa1111", "2.1", 2)
    assert take.conditions.machine == "abcd1234"
    assert cell.numbers["metg"] == Interval(1e-6, 1e-6 / 1.02, 1.02e-6)
    assert cell.numbers["floor"].value == pytest.approx(1e-6 / 3)
    rate = cell.rates[100]
    assert (rate.value, rate.low, rate.high) == (
        pytest.approx(2e6),
        pytest.approx(2e6 / 1.02),
        pytest.approx(2e6 * 1.02),
    ), "tasks a second, of both cores"


def test_label_and_time_are_those_of_the_measurement_or_those_given(tmp_path: Path) -> None:
    folder = made.folder(tmp_path / "r", made.metg("mpi", 1e-6, made.BEGIN))
    assert measured(folder)[0].label == "2026-05-28 20:26"
    found, _ = measured(folder, "c1", 9.0)
    assert (found.time, found.measured) == (9.0, made.BEGIN)


def test_rates_are_of_tasks_near_the_threshold(tmp_path: Path) -> None:
    curve = [
        {"iterations": size, "granularity": 1e-6, "efficiency": efficiency}
        for size, efficiency in ((10, 0.1), (50, 0.4), (100, 0.6), (900, 0.9), (950, None))
    ]
    folder = made.folder(tmp_path / "r", made.metg("mpi", 1e-6, 5.0, curve=curve))
    assert list(measured(folder)[0].cells[0].rates) == [50, 100]


def test_bounds_and_failures_are_kept(tmp_path: Path) -> None:
    beyond = made.metg("mpi", None, 5.0, ending="never_reached", low=3e-3, curve=[])
    found, _ = measured(made.folder(tmp_path / "r", beyond, made.failure("limit", 5.0)))
    assert found.cells[0].numbers == {"metg": Interval(None, 3e-3, None)}
    assert (found.cells[1].error, found.cells[1].numbers) == ("validation", {})


def test_cells_without_a_result_are_left_out_and_counted(tmp_path: Path) -> None:
    unfinished = compared_folders.cell("mpi", "fft", 5.0)
    folder = made.folder(tmp_path / "r", made.metg("mpi", 1e-6, 5.0), unfinished)
    found, warnings = measured(folder)
    assert len(found.cells) == 1
    assert warnings == ["1 cell without a result yet, left out"]
    with pytest.raises(UsageError, match="no cell has a result yet"):
        measured(made.folder(tmp_path / "s", unfinished))


def test_what_a_system_does_not_support_is_no_failure(tmp_path: Path) -> None:
    refused = made.failure("limit", 5.0) | {"error": "unsupported"}
    found, warnings = measured(made.folder(tmp_path / "r", made.metg("mpi", 1e-6, 5.0), refused))
    assert [one.take.system for one in found.cells] == ["mpi"]
    assert warnings == ["1 cell that the system does not support, left out"]


@pytest.mark.parametrize("change", [{"reference": None}, {"machine": None}])
def test_results_of_an_unknown_machine_or_reference_are_refused(
    tmp_path: Path, change: dict[str, object]
) -> None:
    folder = made.folder(tmp_path / "r", made.metg("mpi", 1e-6, 5.0), **change)
    with pytest.raises(UsageError, match="does not say on which machine, or with which reference"):
        measured(folder)
