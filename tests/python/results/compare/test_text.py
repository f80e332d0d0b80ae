"""What a comparison came to, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from compared_cells import LONG, cell, comparison

from taskgrain.estimate.ratio import Ratio
from taskgrain.report.changes import ordered
from taskgrain.results.compare.cells import Question
from taskgrain.results.compare.text import shown, summary


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


def test_what_matters_most_comes_first() -> None:
    found = comparison(cell(verdict="same"), LONG, cell(), cell(verdict="faster"))
    assert [one.verdict for one in ordered(found)] == ["slower", "faster", "undecided", "same"]


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
