"""Finds hosts that are slower or busier than the others: these make ranks wait for one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import NamedTuple

from taskgrain.machine.busy import BUSY_SHARE
from taskgrain.words.warnings import Notice, notice

_SLOWER = 1.1
"""Clocks of equal hosts differ by less than this factor."""
_BUSIER = 2.0


class AtHost(NamedTuple):
    """The work of a host in a run."""

    rate: float | None
    """Work per second and core of the kernel alone, beside the run."""
    busy: float
    """The share of its cores that others took."""


def at_hosts(
    names: Sequence[str], busy: Sequence[float], rates: Sequence[Sequence[float | None]]
) -> dict[str, AtHost]:
    """A run on the first of the hosts, by name; `busy` has a share for each of these, and each of `rates` the
    rates of their cores, host after host."""
    found = {}
    for k, (name, share) in enumerate(zip(names, busy, strict=False)):
        own = [
            rate
            for one in rates
            for rate in one[k * len(one) // len(busy) : (k + 1) * len(one) // len(busy)]
            if rate
        ]
        found[name] = AtHost(fmean(own) if own else None, share)
    return found


def notices(runs: Sequence[Mapping[str, AtHost]]) -> list[Notice]:
    """Names the slowest host, by medians over the runs, and the busiest, by means, if they are clearly so."""
    speeds, shares = defaultdict(list), defaultdict(list)
    for run in runs:
        rates = {name: one.rate for name, one in run.items() if one.rate}
        for name, rate in rates.items():
            speeds[name].append(rate / max(rates.values()))
        for name, one in run.items():
            shares[name].append(one.busy)
    found = []
    if len(speeds) > 1:
        speed = {name: median(some) for name, some in speeds.items()}
        slow, fast = min(speed, key=speed.__getitem__), max(speed, key=speed.__getitem__)
        if speed[fast] >= _SLOWER * speed[slow]:
            found.append(notice("host_slower", host=slow, fastest=fast, factor=speed[fast] / speed[slow]))
    if len(shares) > 1:
        share = {name: fmean(some) for name, some in shares.items()}
        most = max(share, key=share.__getitem__)
        others = max(one for name, one in share.items() if name != most)
        if share[most] > max(BUSY_SHARE, _BUSIER * others):
            found.append(notice("host_busier", host=most, share=share[most], others=others))
    return found
