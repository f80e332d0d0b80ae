"""One quantity of a measurement and its bootstrap sample, of which ratios are made: pure functions.

Its samples may hold those of the empty kernel (no iterations) beside the others: the floor comes from
them, and everything else from the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from taskgrain.estimate.bootstrap import BootstrapSample, picked_rounds
from taskgrain.estimate.crossing import crossing
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.start import MOST as MOST_START
from taskgrain.estimate.start import Start
from taskgrain.estimate.table import Table
from taskgrain.words.interval import Interval

Quantity = Literal["metg", "overhead", "floor", "rate", "efficiency"]
AT_A_SIZE: tuple[Quantity, ...] = ("rate", "efficiency")
"""Those that are of one size of task; of these, more is better. A rate is in tasks a second."""
_LEAST_ROUNDS = 3
"""Rounds that a size needs in every measurement, for rates to be compared there."""


def rounds_of(samples: Sequence[Sample], quantity: Quantity, iterations: int | None = None) -> set[int]:
    """The rounds that tell a quantity; of a rate or an efficiency those with a run of so many iterations."""
    if quantity == "floor" or quantity in AT_A_SIZE:
        size = 0 if quantity == "floor" else iterations
        return {one.round for one in samples if not one.short and one.iterations == size}
    return {one.round for one in samples if not one.short and one.iterations}


def shared_size(every: Sequence[Sequence[Sample]], threshold: float = 0.5) -> int | None:
    """The size at which rates of all measurements can be compared: of those that all have in some rounds,
    the one whose efficiency is nearest to the threshold. None if there is none."""
    known = [_efficiencies(one) for one in every]
    shared = set.intersection(*map(set, known)) if known else set()

    def distance(size: int) -> tuple[float, int]:
        off = [math.log(one[size]) - math.log(threshold) for one in known]
        return abs(sum(off)), size

    return min(shared, key=distance, default=None)


def _efficiencies(samples: Sequence[Sample]) -> dict[int, float]:
    found: dict[int, dict[int, float]] = {}
    for one in samples:
        if one.iterations and not one.short and one.peak > 0.0:
            found.setdefault(one.iterations, {})[one.round] = one.efficiency
    return {
        size: float(np.median(list(rounds.values())))
        for size, rounds in found.items()
        if len(rounds) >= _LEAST_ROUNDS
    }


def bootstrap_sample(
    samples: Sequence[Sample],
    quantity: Quantity,
    rounds: set[int],
    picks: NDArray[np.int64],
    threshold: float,
    iterations: int | None = None,
    *,
    at_one_clock: bool = False,
) -> BootstrapSample | None:
    """The quantity of the samples of `rounds`; `picks` are these rounds [resamples x rounds], in order.

    `at_one_clock` takes the reference for a clock: a time is then what a core of it does in it. None where
    the samples have no such number. Raises ValueError for samples that make no sense.
    """
    used = [one for one in samples if one.round in rounds]
    work = [one for one in used if one.iterations]
    if quantity == "floor":
        return _floor([one for one in used if not one.iterations], work, rounds, picks, at_one_clock)
    table = Table.of(work)
    if table.start_share > MOST_START:
        return None
    if quantity in AT_A_SIZE:
        cores = math.log(max(one.cores for one in work))
        return _at(table, quantity, picks, iterations, cores, at_one_clock)
    found = crossing(table, table.resampled(picks), threshold)
    if found is None:
        return None
    value = found.overhead if quantity == "overhead" else found.metg
    if not math.isfinite(value.value):
        return None
    return value.times(table.log_rate, table.rates(picks)) if at_one_clock else value


def _floor(
    empty: Sequence[Sample],
    work: Sequence[Sample],
    rounds: set[int],
    picks: NDArray[np.int64],
    at_one_clock: bool,
) -> BootstrapSample | None:
    steady = Start.of(work, sorted(rounds)).without(empty)
    if {one.round for one in steady} != rounds:
        return None
    table = Table.of(steady)
    logs = table.log_granularity + (table.log_rate if at_one_clock else 0.0)
    return None if np.isnan(logs).all() else BootstrapSample.of(logs, picks, table.process)


def _at(
    table: Table,
    quantity: Quantity,
    picks: NDArray[np.int64],
    iterations: int | None,
    log_cores: float,
    at_one_clock: bool,
) -> BootstrapSample | None:
    column = np.flatnonzero(table.iterations == iterations)
    if not len(column):
        return None
    # A rate is of work that both share: the same work in a shorter time.
    clock = table.log_rate if at_one_clock else 0.0
    rates, every = log_cores - table.log_granularity - clock, table.log_efficiency
    return BootstrapSample.of((rates if quantity == "rate" else every)[:, column], picks, table.process)


def log_estimate(
    samples: Sequence[Sample],
    quantity: Quantity,
    *,
    threshold: float = 0.5,
    iterations: int | None = None,
    resamples: int = 1000,
    at_one_clock: bool = False,
) -> Interval | None:
    """The logarithm of the quantity, with the interval that its rounds give; None where the samples have no
    such number.

    With `at_one_clock`, a time is what a core of the reference does in it. Raises ValueError for samples that
    make no sense.
    """
    rounds = rounds_of(samples, quantity, iterations)
    if not rounds:
        return None
    picks = picked_rounds(len(rounds), resamples, np.random.default_rng(0))
    found = bootstrap_sample(
        samples, quantity, rounds, picks, threshold, iterations, at_one_clock=at_one_clock
    )
    return None if found is None else found.interval(len(rounds))
