"""Tests of the report in a terminal and for programs."""

import json

import pytest
import results_folder
from command_line import on_terminal

from taskgrain.answers import data, task_times
from taskgrain.answers.data import Results
from taskgrain.cli import report_table
from taskgrain.report import matrix, trust


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = results_folder.big(tmp_path_factory.mktemp("study"), ["limit", "mpi", "ray"], ["fft", "dom"])
    return data.read(folder)


def printed(results: Results, at: float | None = None) -> str:
    return on_terminal(lambda terminal: report_table.show(terminal, results, at))


def test_the_terminal_has_the_words_of_the_page(results: Results) -> None:
    text = printed(results, 20e-6)
    found = matrix.of(results)
    for kind, group in found.groups:
        assert f"{kind}:" in text
        for row in group:
            line = next(one for one in text.splitlines() if one.split() and one.split()[0] == row.system)
            assert all(entry is None or entry.text in line for entry in row.entries)
    for cell in results.cells:
        answer = task_times.at(cell, 20e-6)
        assert answer is None or answer.text in text
    assert all(check.said in text for check in trust.checks(results))


def test_without_a_task_time_none_is_answered(results: Results) -> None:
    assert "Efficiency of tasks" not in printed(results)
    assert "at" not in report_table.as_json(results)


def test_programs_get_every_number(results: Results) -> None:
    found = json.loads(json.dumps(report_table.as_json(results, 20e-6), allow_nan=False))
    assert len(found["cells"]) == len(results.cells) == len(found["at"]["cells"])
    by_name = {cell.name: cell for cell in results.cells}
    for one in found["cells"]:
        assert (one["metg"], one["low"]) == (by_name[one["cell"]].metg.value, by_name[one["cell"]].metg.low)
    assert any(one["times_the_best"] and one["times_the_best"]["value"] > 1 for one in found["cells"])
    (first, *_) = found["at"]["cells"]
    assert [one["level"] for one in first["levels"]] == [0.5, 0.8, 0.9]
    assert {one["verdict"] for one in first["levels"]} <= {"yes", "no", "unknown"}
    assert [one["title"] for one in found["checks"]] == [one.title for one in trust.checks(results)]
