"""A number with its interval: the result of every estimate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Interval:
    """A number and the 95 % interval around it, in the unit of its quantity.

    A bound that is not known is None: as far as anybody knows, it is infinitely far away. Without a value, a
    bound is all that is known; without anything, nothing is.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def number(self) -> float:
        """The value, where there is one. Raises ValueError."""
        if self.value is None:
            raise ValueError("there is no value")
        return self.value

    @property
    def known(self) -> bool:
        """True if there are a value and both bounds."""
        return self.value is not None and self.low is not None and self.high is not None

    @property
    def bounded(self) -> bool:
        """True if there is a bound."""
        return self.low is not None or self.high is not None

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds of a quantity that is not negative."""
        return self.low or 0.0, math.inf if self.high is None else self.high

    @property
    def about(self) -> float | None:
        """The value, or the one bound that is known of it, the upper one first."""
        return next((one for one in (self.value, self.high, self.low) if one is not None), None)

    @property
    def reach(self) -> float:
        """The factor by which it reaches further from its value on its longer side."""
        if not (self.value and self.low and self.high):
            return math.inf
        return max(self.high / self.value, self.value / self.low)

    @property
    def factor(self) -> float:
        """The upper bound divided by the lower one."""
        low, high = self.ends
        return high / low if low else math.inf

    @property
    def half_width(self) -> float:
        """Half the interval relative to the value."""
        if self.value is None or self.low is None or self.high is None:
            return math.inf
        return (self.high - self.low) / (2.0 * self.value)

    def contains(self, value: float) -> bool:
        """Tells whether the value may be this one."""
        low, high = self.ends
        return low <= value <= high

    def times(self, factor: float) -> Interval:
        """The same in another unit; `factor` is above 0."""
        return self._each(lambda one: factor * one)

    def within(self, factor: float, sure: float = 0.0) -> Interval:
        """The same interval, if all beyond `sure` may be wrong by a factor, which is 1 if it may not."""

        def moved(bound: float | None, by: float) -> float | None:
            return bound if bound is None or factor == 1.0 else bound + max(0.0, bound - sure) * (by - 1.0)

        return Interval(self.value, moved(self.low, 1.0 / factor), moved(self.high, factor))

    def up_to(self, most: float) -> Interval:
        """The same of a quantity that cannot exceed `most`, whatever was measured."""
        return self._each(lambda one: min(most, one))

    def from_on(self, least: float) -> Interval:
        """The same of a quantity that is not below `least`."""
        return replace(self._each(lambda one: max(least, one)), low=max(least, self.low or 0.0))

    def log(self) -> Interval:
        """The logarithms of the numbers above 0."""
        return self._each(math.log)

    def exp(self) -> Interval:
        """The numbers that these are the logarithms of."""
        return self._each(math.exp)

    def _each(self, of: Callable[[float], float]) -> Interval:
        return Interval(*(None if one is None else of(one) for one in (self.value, self.low, self.high)))

    def inverse(self, of: float = 1.0) -> Interval:
        """`of` divided by it."""
        return Interval(*(of / one if one else None for one in (self.value, self.high, self.low)))
