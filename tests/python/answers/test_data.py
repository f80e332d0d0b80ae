"""Tests of what the report reads of a folder, damaged or not, and of commands for a cell."""

import json
import math
import shlex
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import results_folder
import typer
from report_cells import measured, results
from report_page import opened

from taskgrain.answers import data
from taskgrain.answers.data import command
from taskgrain.cli.app import app
from taskgrain.results import columns, reader
from taskgrain.results.lines import CellLine
from taskgrain.study.settings import Settings
from taskgrain.words.interval import Interval

CELL = results_folder.cell_name("mpi", "stencil_1d")


def test_reads_a_cell(tmp_path: Path) -> None:
    lines = [
        results_folder.cell_line("mpi", "stencil_1d"),
        results_folder.run_line(CELL),
        results_folder.metg_line(CELL, 4.1e-7, warnings=[{"code": "busy"}]),
    ]
    results = data.read(results_folder.write(tmp_path, lines))
    (cell,) = results.cells
    assert (cell.system, cell.workload, cell.metg.value, cell.ending) == (
        "mpi",
        "stencil_1d/width=16",
        4.1e-7,
        "precise",
    )
    assert (cell.cores, len(cell.runs), cell.work_unit) == (2, 1, "flop")
    assert [one.text for one in cell.warnings] == ["busy"]
    assert len(cell.points) == 10
    assert results.title == "example study"
    assert results.warnings == ()


def test_the_best_of_a_workload_is_what_the_others_are_compared_with(tmp_path: Path) -> None:
    lines: list[results_folder.Line] = []
    for system, metg in (("ray", 2e-6), ("mpi", 1e-6), ("limit", 3e-6)):
        name = results_folder.cell_name(system, "fft")
        lines += [results_folder.cell_line(system, "fft"), results_folder.metg_line(name, metg)]
    ray, mpi, limit = ({"cell": results_folder.cell_name(one, "fft")} for one in ("ray", "mpi", "limit"))
    ratio = {"kind": "ratio", "value": 2.0, "low": 1.8, "high": 2.2}
    lines += [
        ratio | ray | {"to": mpi["cell"]},
        ratio | mpi | {"to": limit["cell"], "value": 0.25, "low": 0.2, "high": 0.5},
    ]
    found = data.read(results_folder.write(tmp_path, lines)).cells
    assert [(cell.system, cell.best is cell, columns.to_best(cell)) for cell in found] == [
        ("ray", False, Interval(2.0, 1.8, 2.2)), ("mpi", True, Interval(1, 1, 1)),
        ("limit", False, Interval(4.0, 2.0, 5.0)),
    ]  # fmt: skip


def test_what_a_graph_takes_ahead_is_the_median_of_the_longest_runs(tmp_path: Path) -> None:
    name = "mpi/fft/width=16"
    runs = [results_folder.run_line(name) | {"prepare_seconds": [one]} for one in (1, 5, 2)]
    runs.append(results_folder.run_line(name) | {"prepare_seconds": [0.25], "tasks": 16})
    folder = results_folder.write(tmp_path, [results_folder.cell_line("mpi", "fft"), *runs])
    (cell,) = data.read(folder).cells
    (column,) = (one for one in columns.shown(columns.Shown.ON_REQUEST) if one.title == "Graph made ahead")
    assert (column.number(cell), column.text(cell)) == (
        2.0,
        f"2.0 s for {results_folder.TASKS} tasks",
    )


def test_fields_of_the_wrong_type_are_missing_values(tmp_path: Path) -> None:
    line = results_folder.metg_line(CELL, 1e-6) | {
        "metg": "fast", "low": -1, "high": True, "rounds": 1.5, "curve": [1, {}, {"iterations": "x"}],
        "warnings": "no", "peak_rate": {}, "threshold": 7,
    }  # fmt: skip
    started = results_folder.cell_line("mpi", "stencil_1d") | {"cores": "many", "command": ["a"], "system": 5}
    folder = results_folder.write(
        tmp_path, [started, line], machine={"cpu": "x", "list": [{"a": [1, [2]]}], "none": None}
    )
    (cell,) = data.read(folder).cells
    assert (cell.metg, cell.rounds, cell.points, cell.warnings) == (Interval(), None, (), [])
    assert (cell.threshold, cell.cores, cell.peak_rate) == (0.5, None, None)
    assert opened(folder).text


def test_failures_are_shown(tmp_path: Path) -> None:
    message = "rank 3 did not answer " * 20
    lines = [
        results_folder.cell_line("mpi", "fft"),
        results_folder.failure_line(
            "mpi/fft/width=16", "timeout", message, "\x1b[31mred\x1b[0m tail\x00\r\nend"
        ),
    ]
    folder = results_folder.write(tmp_path, lines)
    results = data.read(folder)
    (failure,) = results.failures
    assert (failure.kind_of, failure.log) == ("timeout", "red tail\ufffd\nend")
    assert failure is results.cells[0].failure
    assert results.cells[0].ending == "failed"
    shown = opened(folder).text
    assert "timeout" in shown
    assert message in shown
    assert "red tail" in shown


def test_a_failure_that_a_later_attempt_mended(tmp_path: Path) -> None:
    lines = [
        results_folder.cell_line("mpi", "stencil_1d"),
        results_folder.failure_line(CELL),
        results_folder.metg_line(CELL, 1e-6, "failed"),
        results_folder.metg_line(CELL, 1e-6),
    ]
    results = data.read(results_folder.write(tmp_path, lines))
    assert results.failures and results.cells[0].failure is None
    assert results.cells[0].metg.value == 1e-6


def test_a_driver_that_was_started_again(tmp_path: Path) -> None:
    crash: results_folder.Line = {"kind": "crash", "cell": CELL, "message": "ended with 9", "log": "the tail"}
    lines = [results_folder.cell_line("mpi", "stencil_1d"), crash, results_folder.metg_line(CELL, 1e-6)]
    results = data.read(results_folder.write(tmp_path, lines))
    (failure,) = results.failures
    assert (failure.kind_of, failure.message) == ("crash", "ended with 9")
    assert results.cells[0].failure is None and results.cells[0].error == ""
    assert "the tail" in opened(tmp_path).text


def test_the_samples_behind_a_curve(tmp_path: Path) -> None:
    ended = results_folder.metg_line(CELL, 4e-7)
    lines = [
        results_folder.cell_line("mpi", "stencil_1d"),
        results_folder.run_line(CELL, 64, phase="bracket"),
    ]
    folder = results_folder.write(tmp_path, [*lines, *results_folder.run_lines(ended, 3), ended])
    (cell,) = data.read(folder).cells
    assert [len(point.samples) for point in cell.points] == [6] * 10
    for point in cell.points:
        assert all(abs(one / point.granularity - 1) < 0.3 for one in point.samples)
    embedded = json.loads(opened(folder).blocks["data"])["cells"]
    assert [len(point[-2]) for point in embedded[0]["points"]] == [6] * 10
    first = cell.points[0]
    shown = [first.granularity * math.exp(one / 1000) for one in embedded[0]["points"][0][-2]]
    assert shown == pytest.approx(list(first.samples), rel=1e-3)


def test_systems_and_workloads_keep_the_order_of_the_study() -> None:
    found = results(measured("b", 1e-6, "fft"), measured("a", 2e-6, "dom"), measured("b", 3e-6, "dom"))
    assert found.systems == ("b", "a")
    assert found.workloads == ("fft", "dom")
    assert results().systems == ()


def test_workloads_have_the_order_of_the_study_and_not_of_the_log(tmp_path: Path) -> None:
    names = ["dom", "fft", "tree"]
    folder = results_folder.write(tmp_path, [results_folder.cell_line("mpi", one) for one in names])
    tables = "".join(f'[[workloads]]\npattern = "{one}"\nwidth = 16\n' for one in ("tree", "dom"))
    (folder / "study.toml").write_text(tables)
    assert [one.partition("/")[0] for one in data.read(folder).workloads] == ["tree", "dom", "fft"]


STORED = [
    *sorted((Path(__file__).parents[3] / "docs" / "results").glob("*/")),
    *sorted((Path(__file__).parents[1] / "results" / "old").glob("*/")),
]
RECORDED = "taskgrain metg --system mpi"


def test_a_command_has_the_settings_of_its_study() -> None:
    study: dict[str, object] = {"cores": 2, "threshold": 0.5, "precision": 0.05, "budget": 9.0}
    study |= {
        "repeats": 3,
        "experiment": "sweep",
        "isa": "avx2; rm -rf /",
        "validate": ["full"],
        "first_iterations": 100,
        "steps": 0,
    }
    made = command("taskgrain metg --system mpi --iterations 5", study)
    added = made.removeprefix("taskgrain metg --system mpi --iterations 5")
    assert added == " --cores 2 --precision 0.05 --experiment sweep --isa 'avx2; rm -rf /'"


def test_defaults_are_left_out() -> None:
    assert command(RECORDED, {}) == RECORDED
    assert command(RECORDED, asdict(Settings())) == RECORDED


def test_what_was_not_recorded_stays_unknown() -> None:
    assert command("", {"cores": 2, "precision": 0.05}) == ""


def test_numbers_are_as_short_as_a_person_writes_them() -> None:
    assert command(RECORDED, {"threshold": 0.8, "first_iterations": 4096}) == (
        f"{RECORDED} --threshold 0.8 --iterations 4096"
    )


@pytest.mark.parametrize("folder", STORED, ids=lambda one: one.name)
def test_the_commands_of_stored_results_have_options_that_there_are(folder: Path) -> None:
    study = tomllib.loads((folder / "study.toml").read_text("utf-8"))
    cells = [line for line in reader.read(folder).lines if isinstance(line, CellLine) and line.command]
    commands = [command(str(line.command), study) for line in cells]
    assert commands
    group: Any = typer.main.get_command(app)
    parent = group.make_context("taskgrain", ["metg"])
    verb = group.get_command(parent, "metg")
    for one in commands:
        program, name, *words = shlex.split(one)
        assert (program, name) == ("taskgrain", "metg")
        given = verb.make_context("metg", words, parent=parent).params
        assert given["names"] and given["pattern"]
