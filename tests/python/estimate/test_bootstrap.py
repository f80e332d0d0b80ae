"""Intervals from resamples."""

from __future__ import annotations

import math

import numpy as np
import pytest

from taskgrain.estimate.bootstrap import BootstrapSample, interval, picked_rounds
from taskgrain.words.interval import Interval


def test_rounds_are_drawn_with_replacement() -> None:
    picks = picked_rounds(7, 1000, np.random.default_rng(0))
    assert picks.shape == (1000, 7) and set(picks.ravel()) == set(range(7))
    assert any(len(set(row)) < 7 for row in picks.tolist())


def means(rounds: int, seed: int) -> tuple[float, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rounds)
    return float(x.mean()), x[picked_rounds(rounds, 1000, rng)].mean(axis=1)


@pytest.mark.parametrize("rounds", [2, 3, 4, 5, 6, 9, 20])
def test_the_interval_of_a_mean_holds_the_truth(rounds: int) -> None:
    held = 0
    for seed in range(200):
        value, draws = means(rounds, seed)
        found = interval(draws, value, rounds, 0.95)
        held += (found.low is None or found.low <= 0.0) and (found.high is None or found.high >= 0.0)
    assert held >= 180


def test_correlation_and_misfit_make_it_wider() -> None:
    value, draws = means(20, 1)

    def width(**named: float) -> float:
        found = interval(draws, value, 20, 0.95, **named)
        assert found.low is not None and found.high is not None
        return found.high - found.low

    assert width(inflation=4.0) == pytest.approx(2.0 * width())
    assert width(systematic=3.0) == pytest.approx(2.0 * math.hypot(3.0, width() / 2.0), rel=0.02)
    assert width(systematic=0.0) == width()


def test_what_bounds_nothing_is_no_bound() -> None:
    value, draws = means(20, 2)
    assert interval(draws, value, 1, 0.95) == Interval(value)
    lost = np.where(np.arange(1000) % 4 == 0, np.inf, draws)
    found = interval(lost, value, 20, 0.95)
    assert found.low is not None and found.high is None
    assert interval(20.0 * draws, value, 20, 0.95) == Interval(value), "a factor of a thousand away"


def test_a_confidence_beyond_what_the_resamples_show_is_wider_still() -> None:
    value, draws = means(20, 3)
    ends = [interval(draws[:100], value, 20, confidence) for confidence in (0.95, 0.999, 0.99999)]
    widths = [
        high - low
        for low, high in ((one.low, one.high) for one in ends)
        if low is not None and high is not None
    ]
    assert widths == sorted(widths) and len(set(widths)) == 3


def test_a_round_has_the_influence_by_which_it_lies_off() -> None:
    """Of a mean that is exact; draws without a number leave it as it is."""
    rng = np.random.default_rng(4)
    off = rng.normal(size=12)
    picks = picked_rounds(12, 20_000, rng)
    draws = off[picks].mean(axis=1)
    lost = np.where(rng.random(20_000) < 0.002, np.inf, draws)
    for each in (draws, lost):
        found = BootstrapSample(float(off.mean()), each, picks).influence
        assert found == pytest.approx(off - off.mean(), abs=0.15)
    assert not BootstrapSample(0.0, np.full(20_000, np.inf), picks).influence.any()
