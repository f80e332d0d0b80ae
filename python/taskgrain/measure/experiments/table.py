"""The experiments by name: the value of a study's `experiment`. A new one is a module and a line here."""

from __future__ import annotations

from taskgrain.measure.experiments.experiment import Experiment
from taskgrain.measure.experiments.fixed_granularity import FixedGranularity
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.experiments.sweep import Strong, Sweep, Weak
from taskgrain.words import numbers

EXPERIMENTS: dict[str, type[Experiment]] = {
    "metg": MetgSearch,
    "sweep": Sweep,
    "weak": Weak,
    "strong": Strong,
    "at": FixedGranularity,
}


def experiment_named(name: str, field: str = "experiment") -> type[Experiment]:
    """The experiment of this name. Raises `InputError`, which says what `field` is reported as."""
    return EXPERIMENTS[numbers.text(name, field, tuple(EXPERIMENTS))]
