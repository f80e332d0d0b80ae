"""Simulated series of sessions in which the truth is known, for the tests of a history and its benchmark."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from taskgrain.estimate.change_points import Segmentation, segmentation
from taskgrain.estimate.monotone import Floats
from taskgrain.words.interval import Interval

SCATTER = 0.04
"""Standard deviation of the logarithm from session to session."""
WITHIN = 0.01
"""The scatter that the rounds of a session show."""
_NEIGHBOUR = 0.5
"""The share that a session of the world `alike` takes over from the one before it."""
Dice = np.random.Generator


def _normal(dice: Dice, count: int) -> Floats:
    return dice.normal(0.0, SCATTER, count)


def _heavy(dice: Dice, count: int) -> Floats:
    """Student's t with three degrees of freedom, of the same standard deviation."""
    return np.asarray(dice.standard_t(3, count) * SCATTER / math.sqrt(3.0))


def _outlier(dice: Dice, count: int) -> Floats:
    """One session is half as slow again."""
    found = _normal(dice, count)
    found[dice.integers(count)] += math.log(1.5)
    return found


def _rough(dice: Dice, count: int) -> Floats:
    """A tenth of the sessions have a tenth more."""
    return _normal(dice, count) + 0.1 * (dice.random(count) < 0.1)


def _alike(dice: Dice, count: int) -> Floats:
    """Neighbours are alike, which no test of order can tell from a change."""
    found = dice.normal(0.0, SCATTER, count)
    for number in range(1, count):
        found[number] = _NEIGHBOUR * found[number - 1] + math.sqrt(1.0 - _NEIGHBOUR**2) * found[number]
    return found


WORLDS: dict[str, Callable[[Dice, int], Floats]] = {
    "normal": _normal,
    "heavy": _heavy,
    "outlier": _outlier,
    "rough": _rough,
    "alike": _alike,
}


def simulated(world: str, seed: int, *levels: tuple[int, float]) -> list[Interval]:
    """Logarithms of sessions: levels by their number of sessions, and what they are times the usual."""
    dice = np.random.default_rng([seed, sum(world.encode())])
    off = WORLDS[world](dice, sum(count for count, _ in levels))
    means = [math.log(times) for count, times in levels for _ in range(count)]
    return [log_with(mean + float(one), WITHIN) for mean, one in zip(means, off, strict=True)]


def log_with(value: float, error: float) -> Interval:
    """A logarithm of which so much is known."""
    return Interval(value, value - 1.96 * error, value + 1.96 * error)


def segmented(seen: list[Interval], cells: int = 1) -> Segmentation:
    """The segments as `taskgrain history` finds them for one of so many cells."""
    return segmentation(seen, 0.01 / cells, 1.0 - 0.05 / cells)
