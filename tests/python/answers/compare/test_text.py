"""Tests of the result of a comparison, in words."""

from dataclasses import replace

import pytest
from compared_cells import LONG, cell, comparison

from taskgrain.answers.compare.cells import Question, Verdict
from taskgrain.answers.compare.text import ratios_beside, remarks, shown, summary
from taskgrain.estimate.ratio import Ratio
from taskgrain.estimate.sessions import USUAL, filled_up, scatter
from taskgrain.report.page import ordered
from taskgrain.words.interval import Interval
from taskgrain.words.origin import Origin


def test_the_sentences_say_what_came_of_it_and_how_sure_it_is() -> None:
    found = comparison(cell(), cell(workload="fft"), LONG)
    assert summary(found) == [
        "3 cells by METG: 2 slower, 1 undecided. The margin is 5 %.",
        "All intervals of METG hold at once with 95 % (each with 97.50 %); the others hold with 95 % each.",
    ]
    assert summary(replace(found, question=Question(margin=0.025)))[0].endswith("The margin is 2.5 %.")
    assert summary(comparison()) == ["The sides share no cell."]
    nothing = replace(cell(verdict="not comparable"), why="other machine")
    assert len(summary(comparison(nothing))) == 1


def test_the_interval_of_one_cell_holds_by_itself() -> None:
    alone = replace(comparison(cell()), confidence=0.95)
    assert summary(alone)[1] == "The interval of METG holds with 95 %; the others hold with 95 % each."
    looked = replace(comparison(cell()), question=Question(looks=6), confidence=1 - 0.05 / 6)
    assert "METG holds with 95 % at all looks (99.17 % at each)" in summary(looked)[1]


def test_no_confidence_is_said_of_what_is_simulated() -> None:
    simulated = replace(cell(), origin=Origin(simulated=True))
    (_, alone), (_, both, own) = (summary(comparison(simulated, *more)) for more in ([], [LONG]))
    assert "does not hold the simulation's own error" in alone and "95 %" in both
    assert own == "Those of simulated cells do not hold the simulation's own error."


def test_what_matters_most_comes_first() -> None:
    found = comparison(cell(verdict="same"), LONG, cell(), cell(verdict="faster"))
    assert [one.verdict for one in ordered(found)] == ["slower", "faster", "undecided", "same"]


def test_of_sides_measured_apart_the_clocks_and_the_scatter_are_said() -> None:
    apart = replace(cell(), clock=0.86, between=USUAL)
    clock, usual = remarks(comparison(apart))
    assert clock.startswith("Beside new the kernel alone reached 0.86 times what it reached beside old")
    assert "3 % (standard deviation) is usual, and was taken. So the comparison can show" in usual
    assert "changes of 17 % and more" in usual
    assert "rate" not in ratios_beside(comparison(apart), [apart]), "at one clock it is an efficiency"
    known = filled_up(scatter([[Interval(0.0, -0.02, 0.02), Interval(0.02, 0.0, 0.04)]]))
    (said,) = remarks(comparison(replace(cell(), clock=1.01, between=known)))
    assert said.endswith("known with 10 degrees of freedom at least, of which 9 are what is usual.")


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, "–"),
        (Ratio(1.0, None, 1.2, 3), "1.00 (? – 1.20)"),
        (Ratio(None, 120.0, None, 3), "above 120 ×"),
        (Ratio(None, None, 0.5, 3), "below 0.50 ×"),
    ],
)
def test_a_missing_bound_is_a_question_mark(found: Ratio | None, text: str) -> None:
    assert shown(found) == text


def test_what_the_same_means_of_sides_measured_apart_is_said() -> None:
    apart = replace(cell(verdict="same"), between=USUAL)
    assert "differ by less than 25 %, each with 95 %" in summary(comparison(apart))[-1]
    assert not any("25 %" in one for one in summary(comparison(replace(apart, together=True))))


@pytest.mark.parametrize(
    ("second", "regression"),
    [("same", False), ("faster", False), ("slower", True), ("undecided", True), ("not comparable", True)],
)
def test_only_what_shows_the_contrary_takes_a_regression_back(second: Verdict, regression: bool) -> None:
    found = replace(cell(verdict="slower"), again=cell(verdict=second))
    assert found.suspect and found.regression is regression
