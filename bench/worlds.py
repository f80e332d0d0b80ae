"""Counts how often METG's intervals hold the truth on simulated machines that are not quiet.

    python bench/worlds.py --seeds 60 --worlds "quiet,smt 1 s"

Each seed is three searches in one simulated world (`simulated_worlds/noisy.py`), in common rounds: two of
the same system, and one of a system whose METG is 1.5 times as large. The columns:

    METG, overhead          share of intervals that hold the truth: METG in the state that the median run saw
    mean                    the same of METG in the mean state
    lived                   share of intervals that hold one of these two, or a METG between them
    +-, off                 median half-width of METG's interval, median distance of METG from the truth
    A/A, best               share of pairs of the same system that are called different, and share of those of
                            which one would be named the best alone
    ratio, +-               share of intervals of the ratio that hold 1.5, their median half-width
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from functools import partial
from multiprocessing import Pool

import numpy as np
from arguments import count, names, positive
from simulated_worlds.noisy import APART, WORLDS, Trial, trial

from taskgrain.results import ranking
from taskgrain.words.interval import Interval

_HEAD = (
    "world                METG  mean lived overhead     +-     off  "
    "rounds seconds none    A/A  best ratio    +-"
)


def one(name: str, budget: float, seed: int) -> Trial:
    return trial(WORLDS[name], seed, budget)


def row(name: str, trials: Sequence[Trial]) -> str:
    found = [one for each in trials for one in each.found]
    known = [one for one in found if one.metg.metg.value is not None]
    metg = [one.metg.metg.contains(one.typical) for one in known]
    mean = [one.metg.metg.contains(one.mean) for one in known]
    lived = [_reaches(one.metg.metg, one.typical, one.mean) for one in known]
    overhead = [
        one.metg.overhead.contains(one.overhead)
        for one in known
        if one.overhead is not None and one.metg.overhead.value is not None
    ]
    off = [abs(math.log(one.metg.metg.number / one.typical)) for one in known]
    ratios = [each.apart for each in trials if each.apart.value is not None]
    widths = [one.half_width for one in ratios]
    words = [
        f"{name:20}",
        f"{_share(metg)} {_share(mean)} {_share(lived)} {_share(overhead):>8}",
        f"{_middle(one.metg.metg.half_width for one in known):6.1%}  {_middle(off):6.1%}",
        f"{_middle(one.rounds for one in found):7.0f} {_middle(each.seconds for each in trials):7.1f}",
        f"{1.0 - len(known) / len(found):4.0%}",
        f"{np.mean([each.same.decided for each in trials]):6.1%}",
        f"{np.mean([not all(map(ranking.ties, (each.same, each.same.inverse()))) for each in trials]):5.1%}",
        f"{_share([one.contains(APART) for one in ratios])} {_middle(widths):5.1%}",
    ]
    return " ".join(words)


def _reaches(found: Interval, *metgs: float) -> bool:
    """True if it holds one of them, or one between them; a missing bound is infinite."""
    return (found.low or 0.0) <= max(metgs) and min(metgs) <= (found.high or math.inf)


def _share(held: Sequence[bool]) -> str:
    return f"{np.mean(held):5.1%}" if held else "    –"


def _middle(values: Iterable[float]) -> float:
    known = list(values)
    return float(np.median(known)) if known else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=count, default=300, help="trials in each world")
    parser.add_argument(
        "--first", type=count, default=1, help="the first seed; tune on some, judge on others"
    )
    parser.add_argument("--worlds", type=names(WORLDS), default=list(WORLDS), help="with commas between")
    parser.add_argument("--budget", type=positive, default=60.0, help="simulated seconds of a search at most")
    parser.add_argument("--processes", type=count, default=2)
    options = parser.parse_args()
    print(_HEAD)
    with Pool(options.processes) as pool:
        for name in options.worlds:
            seeds = range(options.first - 1, options.first - 1 + options.seeds)
            print(row(name, pool.map(partial(one, name, options.budget), seeds, 4)), flush=True)


if __name__ == "__main__":
    main()
