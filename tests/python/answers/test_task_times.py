"""Tests whether tasks are long enough: the page has the answers of `taskgrain advise`."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import results_folder
from report_cells import cell, measured, results

from taskgrain.answers import data, task_times
from taskgrain.answers.advice_words import efficiency
from taskgrain.answers.advise import Question, answer
from taskgrain.answers.data import Results
from taskgrain.words.interval import Interval


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return data.read(results_folder.big(tmp_path_factory.mktemp("study"), ["limit", "mpi"], ["fft", "dom"]))


@pytest.mark.parametrize("work", [1e-9, 8e-9, 30e-9, 1.7e-6, 40e-6, 3e-3, 1.0])
def test_answers_are_those_of_advise(study: Results, work: float) -> None:
    for one in study.cells:
        assert one.known
        asked = answer(Question(work, one.known.workload, 2), one.system, one.known)
        found = task_times.at(one, work)
        assert found
        assert found.text == efficiency(asked.efficiency)
        assert list(found.verdicts) == [level.verdict for level in asked.levels]


def test_the_page_carries_each_answer_where_it_changes(study: Results) -> None:
    times = task_times.times(study)
    one = study.cells[1]
    rows = task_times.changes(one, times)
    assert len(rows) < len(times)
    for number, work in enumerate(times):
        found = task_times.at(one, work)
        assert found
        row = [row for row in rows if isinstance(row[0], int) and row[0] <= number][-1]
        assert row[1] == found.text
        assert row[3] == "".join(verdict[0] for verdict in found.verdicts)


def test_every_time_is_within_eight_per_cent_of_one_of_them(study: Results) -> None:
    times = task_times.times(study, [17e-6])
    assert 17e-6 in times and 20e-6 in times
    assert max(later / one for one, later in pairwise(times)) < 1.08**2 * 1.01


def test_times_that_were_asked_for_are_among_them(tmp_path: Path) -> None:
    name = results_folder.cell_name("mpi", "fft")
    line = results_folder.metg_line(name, 1e-6)
    curve = [point | {"asked": 17.3e-6} for point in line["curve"][:1]]  # type: ignore[index]
    at = line | {"ending": "at", "metg": None, "low": None, "high": None, "curve": curve}
    folder = results_folder.write(tmp_path, [results_folder.cell_line("mpi", "fft"), at])
    found = data.read(folder)
    assert task_times.asked(found) == (17.3e-6,)
    assert 17.3e-6 in task_times.times(found)


def test_without_curves_there_are_no_times_and_no_answers() -> None:
    assert task_times.times(results(cell())) == ()
    assert task_times.at(cell(), 1e-6) is None
    assert task_times.changes(cell(), (1e-6,)) == task_times.least(cell()) == []


def test_what_a_level_needs_is_said_as_far_as_it_is_known(study: Results) -> None:
    one = study.cells[0]
    assert one.known and one.metg.value
    (half, text), *_, (most, _) = task_times.least(one)
    assert (half, most) == ("50 %", "90 %")
    assert f"{one.metg.value / 2 * 1e9:.1f}" in text
    few = {1e-6: Interval(0.3, 0.29, 0.31), 2e-6: Interval(0.4, 0.39, 0.41)}
    short = measured(
        "a", 1e-6, known=replace(one.known, points=few, cell=replace(one.known.cell, result=None))
    )
    assert [text for _, text in task_times.least(short)] == ["a task's work must take more than 2.0 µs"] * 3
