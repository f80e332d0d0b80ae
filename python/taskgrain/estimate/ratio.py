"""The ratio of two systems that were measured side by side, with its interval: pure functions.

Both sides are resampled by the same rounds. What a round did to both sides then
cancels: the interval is that of the ratio, and narrower than the two sides' own intervals would suggest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from taskgrain.estimate.bootstrap import BootstrapSample, picked_rounds
from taskgrain.estimate.quantities import AT_A_SIZE, Quantity, bootstrap_sample, rounds_of
from taskgrain.estimate.sample import Sample
from taskgrain.words.interval import Interval

Decision = Literal["faster", "slower", "same", "undecided"]


@dataclass(frozen=True, slots=True)
class Ratio(Interval):
    """The contender divided by the baseline; `value` is None where one of the two has no number."""

    rounds: int = 0
    """Rounds that both have."""

    @property
    def decided(self) -> bool:
        """True if the interval says which of the two is larger. A missing bound is infinite."""
        return (self.low or 0.0) > 1.0 or (self.high is not None and self.high < 1.0)


def ratio(
    contender: Sequence[Sample],
    baseline: Sequence[Sample],
    *,
    quantity: Quantity = "metg",
    threshold: float = 0.5,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    iterations: int | None = None,
) -> Ratio:
    """A quantity of the contender over that of the baseline: METG, or one of the others.

    The floor needs samples of the empty kernel among those of both, the rate and the efficiency the
    `iterations` of the tasks that they are of. Only rounds that both have count. Raises ValueError for
    samples that make no sense.
    """
    common = rounds_of(contender, quantity, iterations) & rounds_of(baseline, quantity, iterations)
    if not common:
        return Ratio(None, None, None, 0)
    rounds = len(common)
    picks = picked_rounds(rounds, resamples, np.random.default_rng(seed))
    over, under = (
        bootstrap_sample(one, quantity, common, picks, threshold, iterations) for one in (contender, baseline)
    )
    if over is None or under is None:
        return Ratio(None, None, None, rounds)
    with np.errstate(invalid="ignore"):
        logs = over.draws - under.draws
    # Where both lie beyond all sizes, a resample sets no bound on either side.
    lost, value = np.isnan(logs), over.value - under.value
    processes = (*over.processes, *under.processes)
    systematic = math.hypot(over.systematic, under.systematic)
    least, most = (
        BootstrapSample(value, np.where(lost, beyond, logs), picks, processes, systematic)
        .interval(rounds, confidence)
        .exp()
        for beyond in (-np.inf, np.inf)
    )
    return Ratio(math.exp(value), least.low, most.high, rounds)


def decision(found: Ratio, quantity: Quantity, margin: float) -> Decision:
    """The verdict on the contender of a ratio: it is faster or slower than the baseline by more than
    `margin`, or the same within it. A missing bound is infinite, so that nothing is shown on its side."""
    (low, high), most = found.ends, 1.0 + margin
    if low > most or high < 1.0 / most:
        larger_is_better = quantity in AT_A_SIZE
        return "faster" if (low > most) == larger_is_better else "slower"
    return "same" if low >= 1.0 / most and high <= most else "undecided"
