"""One quantity of a measurement and its bootstrap sample, of which ratios are made: pure functions.

Its samples may hold those of the empty kernel (no iterations) beside the others: the floor comes from
them, and everything else from the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
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
"""The quantities that are of one size of task; of these, more is better. A rate is in tasks a second."""
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
    work, empty = ([one for one in used if bool(one.iterations) == wished] for wished in (True, False))
    if quantity == "floor":
        empty = Start.of(work, sorted(rounds)).without(empty)
        if {one.round for one in empty} != rounds:
            return None
    table = Table.of(empty if quantity == "floor" else work)
    if table.start_share > MOST_START:
        return None
    found: BootstrapSample | None
    if quantity in ("metg", "overhead"):
        read = crossing(table, picks, threshold)
        found = None if read is None else read.metg if quantity == "metg" else read.overhead
    else:
        size = 0 if quantity == "floor" else iterations or 0
        found = table.size(size, picks, of_efficiency=quantity == "efficiency")
    if found is None or not math.isfinite(found.value):
        return None
    if quantity == "rate":
        cores = math.log(max(one.cores for one in work))
        found = replace(found, value=cores - found.value, draws=cores - found.draws)
    if at_one_clock and quantity != "efficiency":
        # A rate is of work that both share: the same work in a shorter time.
        sign = -1.0 if quantity == "rate" else 1.0
        found = found.times(sign * table.log_rate, sign * table.rates(picks))
    return found


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
