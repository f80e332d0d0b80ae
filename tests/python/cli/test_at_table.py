"""The table of efficiencies at given task times."""

from __future__ import annotations

from command_line import on_terminal
from stored_cells import stored

from taskgrain.cli import at_table
from taskgrain.results.cell import Cell
from taskgrain.results.lines import CurvePoint
from taskgrain.words.endings import Ending

TITLES = {"mpi": "MPI"}


def row(system: str, *points: tuple[float, float | None], ending: str = "at", iterations: int = 100) -> Cell:
    """`points` are asked times and efficiencies; None is one without an interval."""
    curve = tuple(
        CurvePoint(
            asked=asked,
            iterations=iterations,
            granularity=asked / (efficiency or 0.5),
            efficiency=efficiency or 0.5,
            efficiency_low=efficiency and efficiency - 0.05,
            efficiency_high=efficiency and efficiency + 0.05,
        )
        for asked, efficiency in points
    )
    return stored(system, "tree/width=4", None, ending=Ending(ending), curve=curve)


def shown(rows: list[Cell], *asked: float) -> str:
    return on_terminal(lambda terminal: at_table.show(terminal, rows, TITLES, asked), 120)


def test_one_time_has_its_iterations_and_how_long_a_task_takes() -> None:
    text = shown([row("mpi", (20e-6, 0.8))], 20e-6)
    assert "tree/width=4" in text and "20.0 µs (100 iterations)" in text
    (line,) = [one for one in text.splitlines() if "MPI" in one]
    assert line.split("  ")[-1].strip() == "25.0 µs" and "80 % (75 – 85)" in line


def test_what_is_not_known_is_no_number() -> None:
    rows = [
        row("mpi", (20e-6, None)),
        row("dask", (50e-6, 0.9), iterations=250),
        row("ray", ending="failed"),
    ]
    text = shown(rows, 20e-6, 50e-6)
    cells = {one.split()[0]: one for one in text.splitlines() if one.strip()}
    assert "not known" in cells["MPI"] and "not measured" in cells["MPI"]
    assert "not measured" in cells["dask"] and "90 % (85 – 95)" in cells["dask"]
    assert cells["ray"].count("failed") == 2


def test_systems_with_different_iterations_have_none_in_the_heading() -> None:
    rows = [row("mpi", (20e-6, 0.8)), row("gpu", (20e-6, 0.8), iterations=7)]
    assert "iterations" not in shown(rows, 20e-6).splitlines()[3]


def test_points_for_programs_have_the_work_of_a_task_alone() -> None:
    (point,) = at_table.points(row("mpi", (20e-6, 0.8)))
    assert point["work"] == 20e-6 and (point["low"], point["high"]) == (0.8 - 0.05, 0.8 + 0.05)
    assert at_table.points(stored(curve=(CurvePoint(), CurvePoint(iterations=3)))) == []
