"""Verdicts: what an interval shows of a margin."""

from __future__ import annotations

import pytest

from taskgrain.estimate.decision import Decision, decision
from taskgrain.estimate.ratio import Ratio


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.06, 1.2, "slower"),
        (0.8, 0.94, "faster"),
        (0.96, 1.04, "same"),
        (1.01, 1.04, "same"),
        (1.01, 1.2, "undecided"),
        (0.9, 1.1, "undecided"),
        (0.9, 1.0, "undecided"),
        (1.2, None, "slower"),
        (None, 0.5, "faster"),
        (None, 1.0, "undecided"),
        (1.0, None, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_of_times(low: float | None, high: float | None, expected: Decision) -> None:
    found = Ratio(1.0, low, high, 9)
    assert decision(found, "metg", 0.05) == decision(found, "floor", 0.05) == expected
    turned = {"slower": "faster", "faster": "slower"}.get(expected, expected)
    assert decision(found, "rate", 0.05) == decision(found, "efficiency", 0.05) == turned


def test_the_margin_is_the_same_in_both_directions() -> None:
    for low, high in ((1.11, 1.3), (1 / 1.3, 1 / 1.11)):
        assert decision(Ratio(1.0, low, high, 9), "metg", 0.1) != "undecided"
    assert decision(Ratio(1.0, 1 / 1.1 + 1e-9, 1.1 - 1e-9, 9), "metg", 0.1) == "same"


def test_without_a_margin_nothing_is_the_same() -> None:
    assert decision(Ratio(1.0, 0.999, 1.001, 9), "metg", 0.0) == "undecided"
    assert decision(Ratio(1.01, 1.001, 1.02, 9), "metg", 0.0) == "slower"
