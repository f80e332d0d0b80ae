"""What the report reads of a results folder: damage is told of, what is missing is shown as missing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import results_folder
from report_page import opened

from taskgrain.report import data
from taskgrain.words.interval import Interval

CELL = results_folder.cell_name("mpi", "stencil_1d")


def test_reads_a_cell(tmp_path: Path) -> None:
    lines = [
        results_folder.cell_line("mpi", "stencil_1d"),
        results_folder.run_line(CELL),
        results_folder.metg_line(CELL, 4.1e-7, warnings=["busy"]),
    ]
    results = data.read(results_folder.write(tmp_path, lines))
    (cell,) = results.cells
    assert (cell.system, cell.workload, cell.metg.value, cell.ending) == (
        "mpi",
        "stencil_1d/width=16",
        4.1e-7,
        "precise",
    )
    assert (cell.cores, len(cell.stored.runs), cell.work_unit) == (2, 1, "flop")
    assert [one.text for one in cell.warnings] == ["busy"]
    assert len(cell.curve) == 10
    assert results.title == "example study"
    assert results.warnings == ()


def test_the_best_of_a_workload_is_what_the_others_are_compared_with(tmp_path: Path) -> None:
    lines: list[results_folder.Line] = []
    for system, metg in (("ray", 2e-6), ("mpi", 1e-6), ("limit", 3e-6)):
        name = results_folder.cell_name(system, "fft")
        lines += [results_folder.cell_line(system, "fft"), results_folder.metg_line(name, metg)]
    ray, mpi, limit = ({"cell": results_folder.cell_name(one, "fft")} for one in ("ray", "mpi", "limit"))
    ratio = {"kind": "ratio", "value": 2.0, "low": 1.8, "high": 2.2}
    lines += [ratio | ray | {"to": mpi["cell"]}, ratio | mpi | {"to": limit["cell"], "value": 0.3}]
    found = data.read(results_folder.write(tmp_path, lines)).cells
    assert [(cell.system, cell.best, cell.to_best) for cell in found] == [
        ("ray", False, Interval(2.0, 1.8, 2.2)), ("mpi", True, None), ("limit", False, None),
    ]  # fmt: skip


def test_what_a_graph_takes_ahead_is_the_median_of_the_longest_runs(tmp_path: Path) -> None:
    name = "mpi/fft/width=16"
    runs = [results_folder.run_line(name) | {"prepare_seconds": [one]} for one in (1, 5, 2)]
    runs.append(results_folder.run_line(name) | {"prepare_seconds": [0.25], "tasks": 16})
    folder = results_folder.write(tmp_path, [results_folder.cell_line("mpi", "fft"), *runs])
    (cell,) = data.read(folder).cells
    assert (cell.prepare, cell.prepare_tasks) == (2.0, results_folder.TASKS)


def test_the_unit_of_work_may_come_from_the_reference(tmp_path: Path) -> None:
    reference: results_folder.Line = {
        "kind": "reference",
        "kernel": "compute_bound",
        "rates": [1e9],
        "work_unit": "byte",
    }
    lines = [reference, results_folder.cell_line("mpi", "stencil_1d"), results_folder.metg_line(CELL, 1e-6)]
    assert data.read(results_folder.write(tmp_path, lines)).cells[0].work_unit == "byte"


def test_a_torn_last_line_is_a_warning(tmp_path: Path) -> None:
    lines = [results_folder.cell_line("mpi", "stencil_1d"), results_folder.metg_line(CELL, 4.1e-7)]
    folder = results_folder.write(tmp_path, lines, tail=b'{"schema":1,"kind":"ru\xff')
    results = data.read(folder)
    assert results.cells[0].metg.value == 4.1e-7
    assert results.warnings == ("the last line of runs.jsonl is torn (23 bytes); it is skipped",)
    assert "the last line of runs.jsonl is torn" in opened(folder).text


def test_other_damage_is_a_warning(tmp_path: Path) -> None:
    folder = results_folder.write(tmp_path, [])
    good = json.dumps(results_folder.metg_line(CELL, 1e-6))
    deep = "[" * 100_000
    (folder / "runs.jsonl").write_text(
        f'nonsense\n[1]\n{deep}\n\n{{"schema":9,"kind":"new"}}\n{good}', "utf-8"
    )
    (folder / "machine.json").write_text("[]", "utf-8")
    (folder / "study.toml").write_text("= no toml", "utf-8")
    results = data.read(folder)
    assert [cell.name for cell in results.cells] == [CELL]
    assert [one.partition(" ")[0] for one in results.warnings] == [
        "runs.jsonl",  # three lines that cannot be read
        "runs.jsonl:",  # the schema
        "runs.jsonl:",  # the kind
        "study.toml:",
        "machine.json:",
    ]
    assert results.title == folder.name
    assert opened(folder).text


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
    assert (cell.metg, cell.result.rounds, cell.curve, cell.warnings) == (Interval(), None, (), ())
    assert (cell.threshold, cell.cores, cell.peak_rate) == (0.5, None, None)
    assert opened(folder).text


def test_numbers_that_json_does_not_know(tmp_path: Path) -> None:
    folder = results_folder.write(tmp_path, [])
    line = '{"kind":"metg","cell":"a/b","ending":"precise","metg":NaN,"low":1e999,"high":-Infinity,"x":%s}'
    (folder / "runs.jsonl").write_text(line % ("9" * 400) + "\n", "utf-8")
    assert data.read(folder).cells[0].metg.value is None
    (cell,) = json.loads(opened(folder).blocks["data"], parse_constant=pytest.fail)["cells"]
    assert cell["row"]["low"] is None


def test_unfinished_cells_are_shown(tmp_path: Path) -> None:
    folder = results_folder.write(
        tmp_path, [results_folder.cell_line("mpi", "fft"), results_folder.run_line("mpi/fft/width=16")]
    )
    assert data.read(folder).cells[0].ending == "unfinished"
    shown = opened(folder).text
    assert "1 is unfinished" in shown
    assert "fft/width=16" in shown


def test_failures_are_shown(tmp_path: Path) -> None:
    message = "rank 3 did not answer " * 20
    lines = [
        results_folder.cell_line("mpi", "fft"),
        results_folder.failure_line(
            "mpi/fft/width=16", "timeout", message, "\x1b[31mred\x1b[0m tail\x00\r\nend"
        ),
    ]
    folder = results_folder.write(tmp_path, lines)
    (failure,) = data.read(folder).failures
    assert (failure.error, failure.log, failure.superseded) == ("timeout", "red tail\ufffd\nend", False)
    assert data.read(folder).cells[0].ending == "failed"
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
    assert results.failures[0].superseded
    assert results.cells[0].metg.value == 1e-6


def test_a_driver_that_was_started_again(tmp_path: Path) -> None:
    crash: results_folder.Line = {"kind": "crash", "cell": CELL, "message": "ended with 9", "log": "the tail"}
    lines = [results_folder.cell_line("mpi", "stencil_1d"), crash, results_folder.metg_line(CELL, 1e-6)]
    results = data.read(results_folder.write(tmp_path, lines))
    (failure,) = results.failures
    assert (failure.error, failure.message, failure.superseded) == ("crash", "ended with 9", True)
    assert results.cells[0].error == ""
    assert "the tail" in opened(tmp_path).text


@pytest.mark.parametrize(
    ("ending", "trouble"),
    [
        ("never_reached", "1 never reached the threshold"),
        ("always_reached", "1 gave only an upper bound"),
        ("several_crossings", "1 crossed the threshold more than once"),
        ("failed", "1 failed"),
        ("at", "1 gave no number"),
        ("a_new_one", "1 is unfinished"),
    ],
)
def test_endings_without_a_number(tmp_path: Path, ending: str, trouble: str) -> None:
    lines = [results_folder.cell_line("mpi", "stencil_1d"), results_folder.metg_line(CELL, 1e-6, ending)]
    folder = results_folder.write(tmp_path, lines)
    assert data.read(folder).cells[0].metg.value is None
    assert trouble in opened(folder).text


def test_the_samples_behind_a_curve(tmp_path: Path) -> None:
    ended = results_folder.metg_line(CELL, 4e-7)
    lines = [
        results_folder.cell_line("mpi", "stencil_1d"),
        results_folder.run_line(CELL, 64, phase="bracket"),
    ]
    folder = results_folder.write(tmp_path, [*lines, *results_folder.run_lines(ended, 3), ended])
    (cell,) = data.read(folder).cells
    assert [len(point.samples) for point in cell.curve] == [6] * 10
    for point in cell.curve:
        assert all(abs(one / point.granularity - 1) < 0.3 for one in point.samples)
    embedded = json.loads(opened(folder).blocks["data"])["cells"]
    assert [len(point[-2]) for point in embedded[0]["points"]] == [6] * 10
    first = cell.curve[0]
    shown = [first.granularity * math.exp(one / 1000) for one in embedded[0]["points"][0][-2]]
    assert shown == pytest.approx(list(first.samples), rel=1e-3)
