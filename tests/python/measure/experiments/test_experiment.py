"""Tests of what every experiment does with its answers."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from simulated_system import Noise, SimulatedSystem, constant, drive

from taskgrain.measure.experiments.experiment import CellSettings, Request
from taskgrain.measure.experiments.table import EXPERIMENTS, experiment_named
from taskgrain.words.errors import InputError


def test_an_unknown_experiment_is_named_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"--experiment: wobble is not allowed; allowed: metg, sweep"):
        experiment_named("wobble", "--experiment")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_run_nobody_asked_for_is_refused(name: str) -> None:
    system = SimulatedSystem(constant(1e-7))
    search = EXPERIMENTS[name](CellSettings(resamples=300))
    (request,) = search.next_round()
    samples = system.run(request)
    with pytest.raises(ValueError, match="not asked for"):
        search.tell(Request("measure", 3, 17, 100, 3, 1), samples, system.rates)
    with pytest.raises(ValueError, match="no samples"):
        search.tell(request, [], system.rates)
    with pytest.raises(ValueError, match="without time"):
        search.tell(request, [replace(samples[0], seconds=0.0)], system.rates)
    with pytest.raises(ValueError, match="reference"):
        search.tell(request, samples, [])
    assert search.next_round() == [request]
    search.tell(request, samples, system.rates)
    with pytest.raises(ValueError, match="not asked for"):
        search.tell(request, samples, system.rates)


@pytest.mark.parametrize(
    ("name", "case"),
    [*((name, "ordinary") for name in EXPERIMENTS), ("metg", "recentred"), ("metg", "never")],
)
def test_a_search_told_again_stands_where_it_stood(name: str, case: str) -> None:
    overhead: Callable[[float], float] = (lambda n: 2e-9 * n + 1e-7) if case == "never" else constant(1e-7)
    noise = Noise(run=0.1, outlier_runs=0.1) if case == "recentred" else Noise(run=0.03, repeat=0.015)
    chosen = CellSettings(precision=0.07, max_rounds=10, resamples=60, task_seconds=(1e-7, 4e-7))
    first = EXPERIMENTS[name](chosen)
    system = SimulatedSystem(overhead, noise, seed=4)
    answers = drive(first, system)
    final = first.result(system.rates)
    for cut in range(0, len(answers) + 1, 13):  # at every place of a round, in one round or another
        again = EXPERIMENTS[name](chosen)
        for request, samples, rates in answers[:cut]:
            # A stored line knows neither the repeats asked for nor the warm-up.
            stored = Request(request.phase, request.round, request.iterations, request.steps, len(samples), 0)
            again.tell(stored, samples, rates)
        for request, samples, rates in answers[cut:]:
            assert again.next_round()[0] == request
            again.tell(request, samples, rates)
        assert again.done and again.result(system.rates) == final


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_answers_of_a_round_may_come_in_any_order(name: str) -> None:
    system = SimulatedSystem(constant(1e-7), Noise(run=0.03, repeat=0.015))
    forwards, backwards = (EXPERIMENTS[name](CellSettings(resamples=60)) for _ in range(2))
    while not forwards.done:
        answers = [(r, system.run(r), system.rates) for r in forwards.next_round()]
        assert backwards.next_round() == forwards.next_round()
        for answer in answers:
            forwards.tell(*answer)
        for answer in reversed(answers):
            backwards.tell(*answer)
    assert backwards.done and backwards.result(system.rates) == forwards.result(system.rates)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", 1.0),
        ("precision", 0.0),
        ("repeats", 0),
        ("steps", 0),
        ("max_rounds", 7),
        ("warmup", -1),
        ("run_seconds", 0.0),
        ("min_steps", 2_000_000),
    ],
)
def test_impossible_settings_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        CellSettings(**{name: value})  # type: ignore[arg-type]
