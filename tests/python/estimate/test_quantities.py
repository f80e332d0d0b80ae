"""Quantities of one side, against simulated systems whose numbers are known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from simulated_system import (
    PEAK,
    QUIET,
    TAU,
    Noise,
    SimulatedSystem,
    constant,
    runs_of_both_lengths,
    samples_of,
)

from taskgrain.estimate.bootstrap import picked_rounds
from taskgrain.estimate.metg import estimate
from taskgrain.estimate.quantities import (
    AT_A_SIZE,
    Quantity,
    bootstrap_sample,
    log_estimate,
    rounds_of,
    shared_size,
)
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.sessions import error

SIZES = (25, 50, 71, 100, 141, 200, 400)
OVERHEAD = 1e-7
QUANTITIES: tuple[Quantity, ...] = ("metg", "overhead", "floor", "rate", "efficiency")


def side(noise: Noise = QUIET, rounds: int = 9, start: float = 0.0) -> list[Sample]:
    """Sizes around the crossing, and the empty kernel in each round."""
    system = SimulatedSystem(constant(OVERHEAD), noise, start_seconds=start, seed=3)
    return [*runs_of_both_lengths(system, SIZES, rounds), *samples_of(system, (0,), rounds)]


EXPECTED: dict[Quantity, float] = {
    "metg": 2 * OVERHEAD,
    "overhead": OVERHEAD,
    "floor": OVERHEAD,
    "rate": 2 / (200 * TAU + OVERHEAD),  # tasks a second of two cores
    "efficiency": 200 * TAU / (200 * TAU + OVERHEAD),
}


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("start", [0.0, 1e-5])
def test_without_noise_each_is_what_it_should_be(quantity: Quantity, start: float) -> None:
    iterations = 200 if quantity in AT_A_SIZE else None
    found = log_estimate(side(start=start), quantity, iterations=iterations)
    assert found is not None
    assert math.exp(found.number) == pytest.approx(EXPECTED[quantity], rel=1e-9)
    assert error(found) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_error_is_about_what_rounds_scatter_by(quantity: Quantity) -> None:
    iterations = 200 if quantity in AT_A_SIZE else None
    values, errors = [], []
    for seed in range(40):
        system = SimulatedSystem(constant(OVERHEAD), Noise(run=0.05, repeat=0.01), seed=seed)
        samples = [*samples_of(system, SIZES, 12), *samples_of(system, (0,), 12)]
        found = log_estimate(samples, quantity, iterations=iterations, resamples=300)
        assert found is not None
        values.append(found.number)
        errors.append(error(found))
    assert 0.7 < np.median(errors) / np.std(values) < 2.0


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("at_one_clock", [False, True])
def test_the_scatter_of_the_reference_is_in_the_interval(quantity: Quantity, at_one_clock: bool) -> None:
    """Runs hardly scatter, but the reference beside them does, and it is a factor of what is wanted."""
    truth, held = EXPECTED[quantity], 0
    if at_one_clock:
        truth *= {"efficiency": 1.0, "rate": 1.0 / PEAK}.get(quantity, PEAK)
    for seed in range(40):
        system = SimulatedSystem(constant(OVERHEAD), Noise(run=0.01, repeat=0.0, reference=0.1), seed=seed)
        samples = [*samples_of(system, (71, 100, 200), 10), *samples_of(system, (0,), 10)]
        iterations = 200 if quantity in AT_A_SIZE else None
        found = log_estimate(
            samples, quantity, iterations=iterations, resamples=200, at_one_clock=at_one_clock
        )
        assert found is not None
        held += found.exp().contains(truth)
    assert held >= 36


def test_more_rounds_make_the_error_smaller() -> None:
    few, many = (log_estimate(side(Noise(run=0.05), rounds), "floor") for rounds in (6, 24))
    assert few is not None and many is not None
    assert error(many) < 0.7 * error(few)


def test_the_floor_is_that_of_the_estimate() -> None:
    samples = side(Noise(run=0.05))
    found = log_estimate(samples, "floor")
    assert found is not None
    assert math.exp(found.number) == pytest.approx(
        estimate(
            [s for s in samples if s.iterations], floor_samples=[s for s in samples if not s.iterations]
        ).floor.value,
        rel=0.05,
    )


def test_one_round_has_a_number_but_no_error() -> None:
    found = log_estimate(side(rounds=1), "floor")
    assert found is not None and math.isinf(error(found))


def test_what_the_samples_do_not_tell_is_none() -> None:
    samples = [one for one in side() if one.iterations]
    assert log_estimate(samples, "floor") is None
    assert log_estimate(samples, "rate", iterations=77) is None
    assert log_estimate([one for one in samples if one.iterations <= 71], "metg") is None
    assert log_estimate([], "metg") is None


def test_runs_that_are_mostly_start_and_end_tell_nothing() -> None:
    assert log_estimate(side(start=1.0), "metg") is None
    assert log_estimate(side(start=1.0), "rate", iterations=200) is None


def test_rounds_are_those_of_the_runs_that_tell() -> None:
    samples = [one for one in side() if one.iterations or one.round % 3 == 0]
    samples = [one for one in samples if one.iterations != 200 or one.round != 4]
    assert rounds_of(samples, "metg") == set(range(9))
    assert rounds_of(samples, "floor") == {0, 3, 6}
    assert rounds_of(samples, "rate", 200) == set(range(9)) - {4}
    assert rounds_of([replace(one, short=True) for one in samples], "metg") == set()


def test_the_shared_size_is_the_one_nearest_to_the_threshold() -> None:
    first = samples_of(SimulatedSystem(constant(OVERHEAD)), SIZES, 3)
    second = samples_of(SimulatedSystem(constant(2 * OVERHEAD)), (50, 141, 200, 400, 800), 3)
    assert shared_size([first]) == 100
    assert shared_size([first, second]) == 141
    assert shared_size([first, second], threshold=0.8) == 400
    assert shared_size([first, [one for one in second if one.iterations == 800]]) is None
    assert shared_size([first, [one for one in second if one.round == 0]]) is None, "too few rounds"


def test_draws_are_one_for_each_resample_of_the_rounds() -> None:
    samples = side(Noise(run=0.05))
    picks = picked_rounds(9, 50, np.random.default_rng(1))
    for quantity in QUANTITIES:
        found = bootstrap_sample(samples, quantity, set(range(9)), picks, 0.5, 200)
        assert found is not None
        assert found.draws.shape == (50,) and len(found.influence) == 9
        assert abs(float(np.median(found.draws)) - found.value) < 0.05
