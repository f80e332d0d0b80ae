"""The runs of a cell: which of them count, and the curve that they make."""

from __future__ import annotations

from pathlib import Path

import pytest
import results_folder

from taskgrain.report import data, runs
from taskgrain.report.runs import Run
from taskgrain.words.interval import Interval

CELL = results_folder.cell_name("mpi", "stencil_1d")


def run(iterations: float, *granularities: float, phase: str = "measure", disturbed: bool = False) -> Run:
    return Run(phase, iterations, granularities, iterations * 100.0, disturbed)


def test_samples_are_those_of_a_size_quiet_or_disturbed() -> None:
    all_of_them = [run(1, 2.0, 3.0), run(2, 9.0), run(1, 7.0, disturbed=True), run(1, 4.0)]
    assert runs.samples(all_of_them, 1) == (2.0, 3.0, 4.0)
    assert runs.samples(all_of_them, 1, disturbed=True) == (7.0,)
    assert runs.samples(all_of_them, 5) == ()


def test_runs_of_the_search_count_only_if_there_are_no_others() -> None:
    floor, short, long = run(0, 1.0, phase="floor"), run(1, 1.0, phase="bracket"), run(2, 1.0, phase="round")
    assert runs.counting([floor, short, long]) == [long]
    assert runs.counting([floor, short]) == [short]
    assert runs.counting([floor]) == []


def test_the_peak_is_of_the_cores_that_the_system_uses() -> None:
    rates = [[4.0, 2.0, 8.0], [4.0, 2.0, 8.0]]
    assert runs.peak(rates, 1) == 4.0
    assert runs.peak(rates, 2) == 3.0
    assert runs.peak([[4.0], [4.0, 2.0]], 2) == 3.0  # of the first, one core is unknown
    assert runs.peak(rates, 4) is None
    assert runs.peak(rates, None) is None
    assert runs.peak(rates, 0) is None
    assert runs.peak([], 2) is None


def test_a_curve_of_medians() -> None:
    first, second = runs.curve([run(20, 5.0, 4.0, 9.0), run(10, 4.0), run(10, 2.0)], 1000.0)
    assert (first.iterations, first.granularity, first.repeats) == (10, 3.0, 2)
    assert (second.granularity, second.granularity_low, second.granularity_high) == (5.0, None, None)
    assert second.efficiency == pytest.approx(2000 / (5.0 * 1000))
    assert second.efficiency_low is second.efficiency_high is None
    assert second.samples == (5.0, 4.0, 9.0)


def test_disturbed_runs_make_a_point_only_where_there_are_no_others() -> None:
    found = [run(10, 2.0), run(10, 9.0, disturbed=True), run(20, 8.0, disturbed=True)]
    first, second = runs.curve(found, 1000.0)
    assert (first.granularity, first.samples, first.disturbed, first.repeats) == (2.0, (2.0,), (9.0,), 2)
    assert (second.granularity, second.samples, second.disturbed) == (8.0, (), (8.0,))


@pytest.mark.parametrize("peak", [None, 0.0])
def test_without_a_peak_there_is_no_efficiency_and_no_curve(peak: float | None) -> None:
    assert runs.curve([run(10, 2.0)], peak) == ()


@pytest.mark.parametrize("phase", ["measure", "sweep", "bracket"])
def test_a_cell_that_was_cut_off_has_the_curve_of_its_runs(tmp_path: Path, phase: str) -> None:
    sizes = {32: 2e-7, 64: 2.4e-7, 128: 3.2e-7}
    lines = [results_folder.REFERENCE, results_folder.cell_line("mpi", "stencil_1d")]
    lines += [results_folder.run_line(CELL, size, grain, phase) for size, grain in sizes.items()]
    lines += [results_folder.run_line(CELL, 0, 1e-7, "floor")]
    if phase != "bracket":  # does not count beside the others
        lines += [results_folder.run_line(CELL, 8, 1.9e-7, "bracket")]
    (cell,) = data.read(results_folder.write(tmp_path, lines)).cells
    assert [point.iterations for point in cell.curve] == [32, 64, 128]
    for point, grain in zip(cell.curve, sizes.values(), strict=True):
        assert point.granularity == pytest.approx(grain, rel=0.15)
        assert point.efficiency * point.granularity == pytest.approx(point.iterations * 2e-9)
    assert cell.metg == Interval()
    assert cell.work_unit == "flop"
