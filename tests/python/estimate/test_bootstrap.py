"""Intervals from resamples, and what makes them wider: rounds that are alike, and few processes."""

import math

import numpy as np
import pytest

from taskgrain.estimate.bootstrap import BootstrapSample, inflated, interval, lasting, picked_rounds
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


@pytest.mark.parametrize(("rho", "least", "most"), [(0.0, 1.0, 1.25), (0.5, 2.2, 4.5), (0.9, 8.0, 19.1)])
def test_rounds_that_are_alike_inflate_the_variance(rho: float, least: float, most: float) -> None:
    rng = np.random.default_rng(5)
    series = np.zeros(2000)
    for k in range(1, 2000):
        series[k] = rho * series[k - 1] + rng.normal()
    assert least <= inflated(series) <= most
    assert inflated(series[:3]) == 1.0 == inflated(np.zeros(20)) == inflated(1e-12 * series)


def test_few_rounds_inflate_less_than_they_seem_to_be_alike() -> None:
    rng = np.random.default_rng(5)
    independent = [inflated(rng.normal(size=10)) for _ in range(200)]
    assert np.median(independent) < 1.3 and np.quantile(independent, 0.9) < 2.5


def in_turn(
    seed: int, processes: int, times: int, between: float, within: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rounds of processes in turn: how far each lies off, and which process it was."""
    rng = np.random.default_rng(seed)
    process = np.tile(np.arange(1, processes + 1), times)
    own = between * rng.standard_normal(processes)
    off = own[process - 1] + within * rng.standard_normal(len(process))
    return off, process


@pytest.mark.parametrize(("between", "within"), [(0.08, 0.02), (0.03, 0.02), (0.0, 0.02), (0.015, 0.0)])
@pytest.mark.parametrize(("processes", "times"), [(3, 4), (6, 2), (6, 5), (8, 3)])
def test_with_the_scatter_of_rounds_it_holds_the_mean_of_all_processes(
    between: float, within: float, processes: int, times: int
) -> None:
    held, seeds = 0, 400
    for seed in range(seeds):
        off, process = in_turn(seed, processes, times, between, within)
        shown = 2.1 * off.std(ddof=1) / np.sqrt(len(off))
        held += abs(off.mean()) <= np.hypot(shown, lasting(off, process, 0.95))
    assert held >= (0.86 if processes == 3 else 0.9) * seeds


def test_nothing_is_missing_where_every_round_has_its_own_process() -> None:
    off, process = in_turn(0, 12, 1, 0.08, 0.02)
    assert lasting(off, process, 0.95) == 0.0


@pytest.mark.parametrize("process", [np.zeros(12, dtype=np.int64), np.ones(12, dtype=np.int64)])
def test_of_one_process_or_unknown_ones_nothing_is_known(process: np.ndarray) -> None:
    assert lasting(np.zeros(12), process, 0.95) == 0.0


def test_before_there_are_many_what_is_usual_counts() -> None:
    off, process = np.zeros(10), np.array([1, 2] * 5)
    assert 0.03 < lasting(off, process, 0.95) < 0.06


def test_rounds_of_unknown_processes_do_not_count() -> None:
    off, process = in_turn(0, 4, 5, 0.08, 0.02)
    more = np.append(off, [0.3, 0.3])
    assert lasting(more, np.append(process, [0, 0]), 0.95) == lasting(off, process, 0.95)


def test_a_higher_confidence_is_wider() -> None:
    off, process = in_turn(0, 4, 5, 0.08, 0.02)
    assert lasting(off, process, 0.99) > 1.2 * lasting(off, process, 0.95)
