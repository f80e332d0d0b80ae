"""Finds where the limit of an efficiency meets the time to solution: pure functions, no I/O.

At each number n of cores, or of nodes, there is a shortest time with the efficiency that METG is for: METG
times the tasks of a core. A program that scales meets this limit where its efficiency falls below that
(Slaughter et al., SC'20, section V-I, figure 14):

    actual(n)   time that was measured
    ideal(n)    actual(n0) * n0 / n, from the fewest cores n0
    limit(n)    METG(n) * tasks of a core

The point where limit and ideal meet foretells the one where limit and actual meet, from METG on each number
of cores and one run of the program on n0. Lines are straight between their points in logarithms of cores and
time. Beyond these nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Line = Mapping[int, float]
"""Seconds by the number of cores, or of nodes."""


@dataclass(frozen=True)
class Meeting:
    """The point where a line falls below the limit."""

    number: float
    """The number of cores or nodes."""
    seconds: float

    def apart(self, other: Meeting) -> tuple[float, float]:
        """The factors, at least 1, by which two such points lie apart: in number, and in time."""
        pairs = (self.number, other.number), (self.seconds, other.seconds)
        number, seconds = (max(one, two) / min(one, two) for one, two in pairs)
        return number, seconds


def ideal(actual: Line, cores: Sequence[int]) -> dict[int, float]:
    """The time on each of `cores` if it were divided by them, from the fewest cores of `actual` on."""
    first = min(actual)
    return {count: actual[first] * first / count for count in cores if count >= first}


def meeting(line: Line, limit: Line) -> Meeting | None:
    """The first place where the line falls to the limit; None if that is not among the cores of both."""
    known = sorted(line.keys() & limit.keys())
    above = [math.log(line[count] / limit[count]) for count in known]
    if not known or above[0] < 0.0:
        return None
    if above[0] == 0.0:
        return Meeting(known[0], line[known[0]])
    for (left, over), (right, under) in pairwise(zip(known, above, strict=True)):
        if under <= 0.0:
            share = over / (over - under)
            ends = (left, right), (line[left], line[right])
            return Meeting(*(one ** (1.0 - share) * other**share for one, other in ends))
    return None
