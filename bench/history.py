"""Counts how often `taskgrain history` sees a change where there is none, and how often it finds one of 20 %.

    python bench/history.py --series 1000 --worlds "normal,heavy"

Sessions of the simulated worlds of `simulated_worlds/history.py` scatter by 4 % (standard deviation). Of
each world and number of sessions, the columns are

    alarm       share of series without a change in which one is seen
    ever        the same, if one looks after each session from the first on
    found       share of series in which a change is seen whose last N sessions are 1.2 times the others, with
                N after the name; and, as `undone`, whose sessions in the middle fifth are
    place       of those that are found with N = 5, the share whose place is exact
    holds       of the same, the share whose ratio's interval holds 1.2
    extra       of the same, the share with a second change, which is none
"""

from __future__ import annotations

import argparse
from functools import partial
from multiprocessing import Pool

import numpy as np
from arguments import count, names
from simulated_worlds.history import WORLDS, segmented, simulated

TIMES = 1.2
LATE = (2, 3, 4, 5, 8)
"""Sessions after a change."""
WIDTH = 7


def _alarm(world: str, count: int, cells: int, seed: int) -> bool:
    return bool(segmented(simulated(world, seed, (count, 1.0)), cells).changes)


def _ever(world: str, count: int, cells: int, seed: int) -> bool:
    seen = simulated(world, seed, (count, 1.0))
    return any(segmented(seen[:end], cells).changes for end in range(4, count + 1))


def _late(world: str, count: int, cells: int, after: int, seed: int) -> tuple[bool, bool, bool, bool]:
    """Tells whether the change is seen at its place, with a ratio that holds the truth, and whether more
    are."""
    found = segmented(simulated(world, seed, (count - after, 1.0), (after, TIMES)), cells)
    if not found.changes:
        return False, False, False, False
    last = found.changes[-1]
    low, high = last.ratio.low or 0.0, last.ratio.high or float("inf")
    return True, last.at == count - after, low <= TIMES <= high, len(found.changes) > 1


def _undone(world: str, count: int, cells: int, seed: int) -> bool:
    middle = count // 5
    before = (count - middle) // 2
    levels = (before, 1.0), (middle, TIMES), (count - middle - before, 1.0)
    return len(segmented(simulated(world, seed, *levels), cells).changes) >= 2


def _counts(text: str) -> list[int]:
    found = [count(one) for one in text.split(",")]
    if min(found) <= max(LATE):
        raise argparse.ArgumentTypeError(f"{text!r}: each has to be above {max(LATE)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--series", type=count, default=1000, help="of each kind")
    parser.add_argument("--sessions", type=_counts, default=[12, 20, 40, 80], help="with commas between")
    parser.add_argument("--worlds", type=names(WORLDS), default=list(WORLDS), help="with commas between")
    parser.add_argument("--cells", type=count, default=1, help="that are looked at together")
    parser.add_argument("--processes", type=count, default=2)
    options = parser.parse_args()
    heads = ["alarm", "ever", *(f"found{after}" for after in LATE), "undone", "place", "holds", "extra"]
    print(f"{'world':8} {'sessions':>8} " + " ".join(f"{head:>{WIDTH}}" for head in heads))
    seeds = range(options.series)
    with Pool(options.processes) as pool:
        for world in options.worlds:
            for sessions in options.sessions:
                of = world, sessions, options.cells
                late = {after: np.array(pool.map(partial(_late, *of, after), seeds, 10)) for after in LATE}
                found, *rest = late[5].T
                row = [
                    np.mean(pool.map(partial(_alarm, *of), seeds, 10)),
                    np.mean(pool.map(partial(_ever, *of), seeds, 10)),
                    *(late[after][:, 0].mean() for after in LATE),
                    np.mean(pool.map(partial(_undone, *of), seeds, 10)),
                    *(one[found].mean() if found.any() else np.nan for one in rest),
                ]
                numbers = " ".join(f"{number:{WIDTH}.1%}" for number in row)
                print(f"{world:8} {sessions:8} {numbers}", flush=True)


if __name__ == "__main__":
    main()
