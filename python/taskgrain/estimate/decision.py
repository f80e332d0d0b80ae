"""Faster, slower, the same, or not decided: what the interval of a ratio says about a margin."""

from __future__ import annotations

from typing import Literal

from taskgrain.estimate.quantities import AT_A_SIZE, Quantity
from taskgrain.estimate.ratio import Ratio

Decision = Literal["faster", "slower", "same", "undecided"]


def decision(found: Ratio, quantity: Quantity, margin: float) -> Decision:
    """The verdict on the contender of a ratio: it is faster or slower than the baseline by more than
    `margin`, or the same within it. A missing bound is infinite, so that nothing is shown on its side."""
    (low, high), most = found.ends, 1.0 + margin
    if low > most or high < 1.0 / most:
        larger_is_better = quantity in AT_A_SIZE
        return "faster" if (low > most) == larger_is_better else "slower"
    return "same" if low >= 1.0 / most and high <= most else "undecided"
