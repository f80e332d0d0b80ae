"""Start and end of a run, from runs of two lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_system import Noise, SimulatedSystem, constant, runs_of_both_lengths, samples_of

from taskgrain.estimate.start import Start

SIZES = (50, 100, 200)
ROUNDS = 12
NOISE = Noise()
RUN = 4e-4  # seconds of 1000 steps at 100 iterations


def found(start_seconds: float, noise: Noise = NOISE, rounds: int = ROUNDS) -> Start:
    system = SimulatedSystem(constant(1e-7), noise, start_seconds=start_seconds)
    return Start.of(runs_of_both_lengths(system, SIZES, rounds), range(rounds))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
def test_two_lengths_tell_start_and_end(share: float) -> None:
    assert found(share * RUN, Noise(0.0, 0.0, 0.0)).seconds == pytest.approx(share * RUN, rel=1e-6, abs=1e-12)


def test_it_is_known_ten_times_better_than_a_run() -> None:
    start = found(0.1 * RUN, Noise(run=0.05))
    draws = start.more(np.random.default_rng(0).integers(0, ROUNDS, (500, ROUNDS)))
    assert start.seconds == pytest.approx(0.1 * RUN, abs=0.02 * RUN)
    assert draws.std() < 0.007 * RUN, "that of a run's location is 0.05 / sqrt(12) = 0.014"


def test_a_run_that_was_interrupted_changes_little() -> None:
    runs = runs_of_both_lengths(
        SimulatedSystem(constant(1e-7), Noise(), start_seconds=0.1 * RUN), SIZES, ROUNDS
    )
    hit = [replace(s, seconds=s.seconds + RUN) if s.short and s.round in (0, 2, 7) else s for s in runs]
    assert Start.of(hit, range(ROUNDS)).seconds == pytest.approx(0.1 * RUN, abs=0.02 * RUN)


def test_it_is_never_negative() -> None:
    """A long run that costs more by the task, as caches fill, has no start that could be taken off."""
    runs = runs_of_both_lengths(SimulatedSystem(constant(1e-7), Noise(0.0, 0.0, 0.0)), SIZES, ROUNDS)
    cheap = [replace(s, seconds=0.8 * s.seconds) if s.short else s for s in runs]
    start = Start.of(cheap, range(ROUNDS))
    assert start.known and start.seconds == 0.0 and start.without(runs) == runs


def test_without_enough_short_runs_nothing_is_taken_off() -> None:
    system = SimulatedSystem(constant(1e-7), start_seconds=RUN)
    runs = samples_of(system, SIZES, ROUNDS)
    start = Start.of(runs, range(ROUNDS))
    assert not start.known and start.without(runs) == runs
    picks = np.zeros((5, ROUNDS), dtype=np.int64)
    assert start.more(picks).tolist() == [0.0] * 5
    few = [s for s in runs_of_both_lengths(system, SIZES, ROUNDS) if not s.short or s.round < 4]
    assert not Start.of(few, range(ROUNDS)).known


def test_a_run_never_loses_all_of_its_time() -> None:
    start = replace(found(0.1 * RUN), seconds=RUN)
    runs = samples_of(SimulatedSystem(constant(1e-7)), SIZES, 2)
    assert all(0.0 < a.seconds < b.seconds for a, b in zip(start.without(runs), runs, strict=True))
