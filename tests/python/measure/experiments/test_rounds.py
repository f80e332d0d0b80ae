"""Tests of what all searches do with runs that others disturbed, and with runs of few steps."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from simulated_system import TAU, Noise, SimulatedSystem, constant, drive

from taskgrain.estimate.sample import Sample
from taskgrain.measure.experiments.experiment import CellSettings, Request
from taskgrain.measure.experiments.fixed_granularity import FixedGranularity
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.experiments.rounds import LONGER_ROUNDS, Rounds
from taskgrain.measure.experiments.sweep import Sweep

FAST = CellSettings(resamples=200, search_resamples=100, task_seconds=(1e-7, 4e-7))
OVERHEAD = 1e-7
SEARCHES = pytest.mark.parametrize("made", [MetgSearch, Sweep, FixedGranularity])
Change = Callable[[Rounds, Request, list[Sample]], tuple[list[Sample], bool]]


def driven(search: Rounds, change: Change) -> SimulatedSystem:
    """Drives a search to its end. After the preparation, `change` says what a run tells it."""
    system = SimulatedSystem(constant(OVERHEAD), Noise(run=0.01))
    while not search.done:
        for request in search.next_round():
            samples, disturbed = system.run(request), False
            if not search.preparing:
                samples, disturbed = change(search, request, samples)
            search.tell(request, samples, system.rates, float(not disturbed))
    return system


def longer(samples: list[Sample], factor: float) -> list[Sample]:
    return [replace(one, seconds=one.seconds * factor) for one in samples]


def assert_the_curve_is_that_of_the_quiet_system(search: Rounds, system: SimulatedSystem) -> None:
    curve = {point.iterations: point for point in search.result(system.rates).curve}
    for n in search.sizes:  # those that are measured seldom have few runs
        point, work = curve[n], n * TAU
        assert point.efficiency.number == pytest.approx(work / (work + OVERHEAD), rel=0.05)


@SEARCHES
def test_disturbed_runs_count_only_where_too_few_others_do(made: type[Rounds]) -> None:
    """Every fifth run takes twice as long."""
    told = iter(range(1, 10_000))
    search = made(replace(FAST, precision=0.001, max_rounds=16))

    def change(_: Rounds, request: Request, samples: list[Sample]) -> tuple[list[Sample], bool]:
        hit = next(told) % 5 == 0
        return longer(samples, 2.0 if hit else 1.0), hit

    system = driven(search, change)
    assert_the_curve_is_that_of_the_quiet_system(search, system)
    assert {one.round for one in search.samples()} == set(range(16))


@pytest.mark.parametrize("made", [MetgSearch, FixedGranularity])
def test_a_search_waits_for_runs_that_nobody_disturbs(made: type[Rounds]) -> None:
    """Others take a tenth of the cores until they go away."""
    search = made(FAST)

    def change(search: Rounds, request: Request, samples: list[Sample]) -> tuple[list[Sample], bool]:
        return longer(samples, 1.1 if search.rounds < 9 else 1.0), search.rounds < 9

    system = driven(search, change)
    assert 13 <= search.rounds < 20
    assert_the_curve_is_that_of_the_quiet_system(search, system)


@SEARCHES
def test_of_a_disturbed_run_the_fastest_repeat_counts(made: type[Rounds]) -> None:
    """Others take the cores during two of three repeats of each run."""
    search = made(FAST)

    def change(_: Rounds, request: Request, samples: list[Sample]) -> tuple[list[Sample], bool]:
        return [
            replace(one, seconds=one.seconds * (1.0 if k % 3 == 1 else 3.0)) for k, one in enumerate(samples)
        ], True

    system = driven(search, change)
    assert_the_curve_is_that_of_the_quiet_system(search, system)
    curve = search.result(system.rates).curve
    assert {point.repeats for point in curve if point.iterations in search.sizes} == {search.rounds}


@pytest.mark.parametrize("made", [MetgSearch, Sweep])
def test_repeats_become_short_enough_to_fall_between_disturbances(made: type[Rounds]) -> None:
    """Others leave alone what lasts half a millisecond, until they go away after the sixth round."""
    search = made(replace(FAST, precision=0.001, max_rounds=20))
    system, lasted, repeats = SimulatedSystem(constant(OVERHEAD), Noise()), {}, {}
    while not search.done:
        for request in search.next_round():
            samples = system.run(request)
            hit = not search.preparing and search.rounds < 6 and samples[0].seconds > 5e-4
            if not search.preparing and request.iterations == search.sizes[-1]:
                lasted[search.rounds], repeats[search.rounds] = samples[0].seconds, request.repeats
            search.tell(request, longer(samples, 3.0) if hit else samples, system.rates, float(not hit))
    assert lasted[0] > 2e-3 and repeats[0] == 3
    assert lasted[5] < 6e-4 and repeats[5] > 3
    assert lasted[19] == pytest.approx(lasted[0], rel=0.2) and repeats[19] == 3
    assert_the_curve_is_that_of_the_quiet_system(search, system)


@pytest.mark.parametrize("made", [MetgSearch, Sweep])
@pytest.mark.parametrize("every", [2, 30])
def test_a_number_that_rests_on_disturbed_runs_is_not_precise(made: type[Rounds], every: int) -> None:
    """Others disturb all runs but one in so many: few are enough, and hardly any are not."""
    search, told = made(FAST), iter(range(1, 10_000))

    def change(_: Rounds, request: Request, samples: list[Sample]) -> tuple[list[Sample], bool]:
        return samples, next(told) % every > 0

    found = search.result(driven(search, change).rates)
    said = "crossing_disturbed" in {one.code for one in found.warnings}
    assert (found.ending, said) == (("precise", False) if every == 2 else ("budget", True))
    assert found.metg.known and found.metg.half_width < 0.07, "it is narrow"


@pytest.mark.parametrize(
    ("overhead", "growth", "lengths", "said"),
    [
        (1e-3, 0.0, [5, 200], False),  # its runs are long and have few tasks: longer ones are asked for
        (1e-3, 1e-5, [5, 200], True),
        (1e-5, 0.0, [9], False),  # two lengths tell it too, where start and end do not hide it
        (1e-5, 1e-7, [5], True),
    ],
)
def test_a_cost_that_grows_with_the_run_is_said(
    overhead: float, growth: float, lengths: list[int], said: bool
) -> None:
    search = MetgSearch(replace(FAST, max_rounds=10))
    system = SimulatedSystem(constant(overhead), Noise(run=0.03), growth=growth)
    answers = drive(search, system)
    asked = {
        phase: {r.steps for r, *_ in answers if r.phase == phase and r.round == 3}
        for phase in ("start", "longer")
    }
    assert [*map(min, filter(None, asked.values()))] == lengths
    if asked["longer"]:
        assert {r.round for r, *_ in answers if r.phase == "longer"} == set(LONGER_ROUNDS)
    found = search.result(system.rates)
    assert ("cost_grows" in {one.code for one in found.warnings}) is said
