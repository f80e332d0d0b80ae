"""The experiments by name."""

from __future__ import annotations

import pytest

from taskgrain.measure.experiments.experiment import CellSettings, Experiment
from taskgrain.measure.experiments.table import EXPERIMENTS, experiment_named
from taskgrain.words.errors import InputError


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_is_found_and_asks_for_a_first_run(name: str) -> None:
    made = experiment_named(name)
    assert issubclass(made, Experiment)
    experiment = made(CellSettings())
    assert experiment.next_round() and not experiment.done and experiment.samples() == []


def test_others_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"x.toml:3: experiment.* is not allowed; allowed: metg, sweep"):
        experiment_named("metgs", "x.toml:3: experiment")
