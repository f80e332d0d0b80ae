"""A results folder for programs: what they read is what the commands show."""

import json
from pathlib import Path

import polars
import pytest
import results_folder as made
from command_line import called

import taskgrain.results
from taskgrain.results.tables import TABLES
from taskgrain.words.errors import InputError, UsageError

MEASURED = Path(__file__).parents[3] / "docs/results/2026-11-26-h200-sweep"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Cells that ended in several ways, one with what only its last run has, and a torn line."""
    mpi, ray = made.cell_name("mpi", "fft"), made.cell_name("ray", "fft")
    lines = [made.cell_line("mpi", "fft"), *([made.run_line(mpi)] * 100)]
    lines += [made.run_line(mpi) | {"joules": 1.5}, made.metg_line(mpi, 1e-6)]
    lines += [made.cell_line("ray", "fft"), made.failure_line(ray, "crash", "signal 11")]
    return made.write(tmp_path / "r", [*lines, made.cell_line("tbb", "fft")], tail=b'{"ki')


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_those_of_export(folder: Path, table: str) -> None:
    for one in (folder, MEASURED):
        rows = taskgrain.results.read(str(one)).table(table)
        assert rows == json.loads(called("export", one, "--table", table, "--format", "json").out)
        frame = polars.DataFrame(rows, infer_schema_length=None)
        assert frame.height == len(rows) and (not rows or set(frame.columns) == set(rows[0]))


def test_cells_have_their_numbers_their_runs_and_the_best(folder: Path) -> None:
    found = taskgrain.results.read(folder)
    assert [one.name for one in found.cells] == [made.cell_name(one, "fft") for one in ("mpi", "ray", "tbb")]
    for cell, row in zip(found.cells, found.table(), strict=True):
        assert (row["overhead"], row["runs"]) == (cell.number("overhead").value, len(cell.runs))
    first = found.cells[0]
    assert first.best is first and sum(len(run.seconds) for run in first.runs) == 202
    assert found.machine == made.MACHINE and "is torn" in found.warnings[0]


def test_what_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is .* a results folder\?"):
        taskgrain.results.read(tmp_path)
    with pytest.raises(InputError, match=r"table: cell is not allowed\. Did you mean cells\?"):
        taskgrain.results.read(folder).table("cell")
    (folder / "machine.json").unlink()
    assert taskgrain.results.read(folder).machine == {}
