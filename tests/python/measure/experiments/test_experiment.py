"""What every experiment does with the answers that it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_system import SimulatedSystem, constant

from taskgrain.measure.experiments.experiment import CellSettings, Request
from taskgrain.measure.experiments.table import EXPERIMENTS, experiment_named
from taskgrain.study.settings import Settings
from taskgrain.words.errors import InputError


def test_the_default_of_a_study_is_an_experiment() -> None:
    assert experiment_named(Settings().experiment) is EXPERIMENTS["metg"]


def test_an_unknown_experiment_is_named_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"--experiment: wobble is not allowed; allowed: metg, sweep"):
        experiment_named("wobble", "--experiment")


def test_a_settings_experiment_gets_what_the_study_asks() -> None:
    asked = CellSettings.of(Settings(threshold=0.7, precision=0.2, steps=9, min_rounds=3, max_rounds=5))
    assert (asked.threshold, asked.precision, asked.steps) == (0.7, 0.2, 9)
    assert (asked.min_rounds, asked.max_rounds, CellSettings.of(Settings()).steps) == (3, 5, None)


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
