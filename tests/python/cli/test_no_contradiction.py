"""No table and no answer contradicts itself, whatever results it is of: stored ones, and noisy ones."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import noisy_results
import pytest

from taskgrain.answers import data
from taskgrain.answers.advice_words import efficiency, level, saved, sentences
from taskgrain.answers.advise import Answer, Question, answer, choice
from taskgrain.estimate.advice import verdict_of
from taskgrain.report import matrix
from taskgrain.results import curves, ranking
from taskgrain.results.cell import Cell
from taskgrain.results.columns import times_the_best, to_best
from taskgrain.words.interval import Interval

STORED = Path(__file__).parents[3] / "docs/results"
QUICK = ("2026-11-27-default", "2026-11-24-rate", "2026-11-26-h200")
FOLDERS = [
    pytest.param(one, marks=() if one.name in QUICK else pytest.mark.deep, id=one.name)
    for one in sorted(STORED.glob("2*"))
]
TIMES = [10.0**power * step for power in range(-8, -2) for step in (1.0, 3.0)]
"""The times of tasks, in seconds."""


@pytest.fixture(params=[*FOLDERS, None])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param is None:
        return noisy_results.folder(tmp_path / "noisy")
    assert isinstance(request.param, Path)
    return request.param


def first(text: str) -> float | None:
    """The number that a cell of a table begins with, if there is one."""
    found = re.match(r"(?:[=?] ?)?([\d.]+)(?: \(| ×|$)", text.replace("\N{NO-BREAK SPACE}", " "))
    return float(found[1]) if found else None


def test_nothing_is_smaller_than_the_best(folder: Path) -> None:
    results = data.read(folder)
    for here in ranking.by_workload(results.cells).values():
        contest = ranking.contest(here)
        for one in contest:
            agrees(one)
    for entry in matrix.of(results).entries:
        if entry.place in ("best", "tie", "behind"):
            number = first(entry.text)
            assert number is None or number >= 1.0, (entry.cell.name, entry.text)


def agrees(cell: Cell) -> None:
    ratio, best = to_best(cell), cell.best
    if ratio is None or best is None:
        return
    if cell is best:
        assert (ratio.value, times_the_best(cell)) == (1.0, "best")
        return
    number = first(times_the_best(cell))
    assert number is None or number >= 1.0, (cell.name, times_the_best(cell))
    if ratio.value is not None:
        assert cell.metg.value is not None and best.metg.value is not None
        assert cell.metg.value >= best.metg.value
        quotient = cell.metg.value / best.metg.value
        assert ratio.contains(quotient)
        assert ratio.low or ratio.high or ratio.value == quotient
    if ratio.low is not None and ratio.low > 1.0 and cell.metg.value and best.metg.value:
        assert cell.metg.value > best.metg.value


def test_an_answer_agrees_with_itself(folder: Path) -> None:
    every = curves.opened(folder)[0]
    for workload in list(dict.fromkeys(one.workload for one in every))[:2]:
        here = [one for one in every if one.workload == workload]
        for work in TIMES:
            question = Question(work, workload, here[0].cores or 0)
            coherent(question, [answer(question, one.cell.system, one) for one in here])
        for number, work in enumerate(TIMES[::4]):
            worse = [spoilt(one, (place + number) % 3) for place, one in enumerate(here)]
            question = Question(work, workload, here[0].cores or 0)
            coherent(question, [answer(question, one.cell.system, one) for one in worse])


def spoilt(one: curves.Curve, how: int) -> curves.Curve:
    """A curve as it is, of runs that were mostly disturbed, or of one round."""
    if how == 2:
        return replace(one, points={work: Interval(share.value) for work, share in one.points.items()})
    result = one.cell.result and replace(one.cell.result, disturbed_runs=9, runs=10)
    return replace(one, cell=replace(one.cell, result=result)) if how == 1 else one


def coherent(question: Question, answers: list[Answer]) -> None:
    for one in answers:
        found, levels = one.efficiency.found, one.levels
        for each in levels:
            margin, text = each.margin, level(each)
            if margin.value is not None and found.value is not None:
                assert (margin.value >= 1.0) == (found.value >= each.level), (one.system, text)
            assert each.verdict == verdict_of(found, each.level), (one.system, text, found)
            if each.verdict == "yes":
                assert margin.ends[1] >= 1.0 and (margin.value or 1.0) >= 1.0 and text.startswith("yes")
            if each.verdict == "no":
                assert margin.ends[0] <= 1.0 and (margin.value or 1.0) <= 1.0 and text.startswith("no, ")
        rank = {"yes": 0, "unknown": 1, "no": 2}
        assert [rank[each.verdict] for each in levels] == sorted(rank[each.verdict] for each in levels)
        known = [each.needed.value for each in levels if each.needed.value is not None]
        assert all(lower <= higher for lower, higher in pairwise(known)), one.system
        assert efficiency(one.efficiency)
    bounds = {one.name for one in answers if one.curve and one.curve.cell.bound}
    for said in sentences(question, answers):
        of_all = said.startswith(("Nobody can choose", "The machine was busy", "Others were busy"))
        assert of_all or not any(name in said for name in bounds), said
        if "too short" in said:
            assert not any(one.disturbed and f"with {one.name}:" in said for one in answers), said
    if found := choice(answers):
        assert found.best.name not in bounds
        assert saved(found.best, found) == ("best" if found.best.known else "–")
        for one in answers:
            if one.name not in bounds:
                assert (one.efficiency.found.low or 0.0) * one.occupied <= found.best.speed
            if one.system in found.saved:
                share = found.saved[one.system]
                assert share.value is None or 0.0 <= share.value < 1.0
                assert one.speed <= found.best.speed
                assert not (one.rough or found.best.rough) or (share.low, share.high) == (None, None)
                assert not one.disturbed or share.low is None
