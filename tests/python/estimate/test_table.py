"""Samples as a table of rounds and sizes."""

from dataclasses import replace

import numpy as np
import pytest
from simulated_system import PEAK, QUIET, Noise, SimulatedSystem, constant, runs_of_both_lengths, samples_of

from taskgrain.estimate.bootstrap import picked_rounds
from taskgrain.estimate.table import Table

SIZES = (25, 50, 100, 200, 400)


def test_rows_are_rounds_and_columns_are_sizes() -> None:
    table = Table.of(samples_of(SimulatedSystem(constant(1e-7), QUIET), SIZES, 3))
    assert table.iterations.tolist() == list(SIZES)
    assert table.log_granularity.shape == (3, 5) and table.rounds.tolist() == [3] * 5
    assert table.repeats.tolist() == [9] * 5
    assert np.exp(table.log_granularity[:, 2]) == pytest.approx([2e-7] * 3)
    assert np.exp(table.log_peak) == pytest.approx(np.full((3, 5), PEAK))


def test_a_clock_that_changes_is_taken_out_as_if_all_runs_had_its_median() -> None:
    rounds = 9
    system = SimulatedSystem(
        constant(1e-7), Noise(), drift=lambda at: 2.0 if at // len(SIZES) in (1, 4) else 1.0
    )
    table = Table.of(samples_of(system, SIZES, rounds))
    assert table.follows > 0.95 and np.exp(table.log_rate) == pytest.approx(PEAK, rel=0.02)
    assert np.exp(table.log_granularity[:, 2]) == pytest.approx([2e-7] * rounds, rel=0.1)


def test_a_reference_that_tells_nothing_of_the_runs_adds_nothing_to_their_scatter() -> None:
    loose = Noise(run=0.05, reference=0.2)
    table = Table.of(samples_of(SimulatedSystem(constant(1e-7), loose), SIZES, 40))
    assert table.follows < 0.1
    assert table.log_granularity.std(axis=0) == pytest.approx([0.05] * 5, rel=0.5), "not 0.2"


def test_a_run_that_was_interrupted_is_left_out_and_one_of_a_slow_state_is_not() -> None:
    samples = samples_of(SimulatedSystem(constant(1e-7), Noise(run=0.02)), SIZES, 12)
    times = {(3, 100): 50.0, (5, 200): 1.5}
    hit = [replace(s, seconds=s.seconds * times.get((s.round, s.iterations), 1.0)) for s in samples]
    table = Table.of(hit)
    assert table.rounds.tolist() == [12, 12, 11, 12, 12]
    assert np.isnan(table.log_granularity[3, 2]) and np.isfinite(table.log_granularity[5, 3])


def test_the_rate_is_that_of_the_runs_that_count() -> None:
    """Where most runs of a round were interrupted, the reference beside them is none of the session's."""
    samples = samples_of(SimulatedSystem(constant(1e-7), QUIET), SIZES, 5)
    hit = [
        replace(s, seconds=50.0 * s.seconds, peak=s.peak / 1.5)
        if s.round < 2 and s.iterations > 25
        else replace(s, peak=s.peak / 1.2)
        if s.round == 2
        else s
        for s in samples
    ]
    table = Table.of(hit)
    assert np.isnan(table.log_granularity[:2, 1:]).all()
    assert np.exp(table.log_rate) == pytest.approx(PEAK)
    assert table.rates(np.arange(5)[None, :])[0] == table.log_rate


def test_what_is_measured_seldom_takes_part_once_it_means_something() -> None:
    samples = samples_of(SimulatedSystem(constant(1e-7), Noise()), SIZES, 9)
    for count in range(1, 5):
        some = [s for s in samples if s.iterations != 400 or s.round < count]
        assert Table.of(some).fit.tolist() == [True] * 4 + [count >= 3]
    few = [s for s in samples if s.round < 2]
    assert Table.of(few).fit.all(), "where nothing has more"


def test_a_size_that_is_missing_from_a_resample_says_what_it_says_in_all() -> None:
    samples = samples_of(SimulatedSystem(constant(1e-7), Noise(run=0.1, reference=0.05)), SIZES, 4)
    table = Table.of([s for s in samples if s.iterations != 400 or s.round == 0])
    picks = np.array([[1, 2, 3, 3], [0, 1, 2, 3]])
    faster = table.rates(picks) - table.log_rate
    assert faster[0] != 0.0 == faster[1], "a resample has a rate of its own"
    for all_of, some, power in zip(
        table.located, table.resampled(picks), (table.follows, 1.0 - table.follows), strict=True
    ):
        assert some.shape == (2, 5) and some[:, 4] == pytest.approx(all_of[4] - power * faster)


def test_the_rate_of_a_resample_moves_its_times_and_efficiencies() -> None:
    system = SimulatedSystem(constant(1e-7), QUIET, drift=lambda at: 1.0 if at < 5 else 1.25)
    table = Table.of(samples_of(system, SIZES, 2))
    picks = np.array([[0, 0], [1, 1]])
    assert np.exp(table.rates(picks)) == pytest.approx([PEAK, PEAK / 1.25])
    for (granularity, efficiency), clock in zip(
        zip(*table.resampled(picks), strict=True), (1.0, 1.25), strict=True
    ):
        assert np.exp(granularity) == pytest.approx(
            clock * np.array([1.0 + n / 100.0 for n in SIZES]) * 1e-7, rel=0.02
        )
        assert np.exp(efficiency) == pytest.approx([n / (n + 100.0) for n in SIZES], rel=0.02)


def test_start_and_end_of_a_run_are_taken_off_and_their_error_is_in_the_resamples() -> None:
    start = 0.2 * 4e-4  # of a run of 1000 steps at the crossing
    system = SimulatedSystem(constant(1e-7), Noise(run=0.02), start_seconds=start)
    table = Table.of(runs_of_both_lengths(system, SIZES, 12))
    assert table.start.seconds == pytest.approx(start, rel=0.05)
    assert np.exp(table.located[1][2]) == pytest.approx(0.5, rel=0.03), "a fifth too low with the start"
    picks = picked_rounds(12, 400, np.random.default_rng(0))
    drawn, seconds = table.resampled(picks)[0], table.start.more(picks) + table.start.seconds
    assert np.corrcoef(drawn[:, 2], seconds)[0, 1] < -0.3, "the more the start takes, the less is left"
