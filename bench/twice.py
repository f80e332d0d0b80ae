"""Shows how well two studies of the same machine agree.

    python bench/twice.py results/first results/second
    python bench/twice.py --again results/first results/second

The first reads what the studies came to. The second estimates METG from their runs anew, with its ratios to
`taskgrain_graph` and `limit`. Prints, for METG, the work at METG (which is METG at one clock), the overhead
of a task and the ratios: by how much the two studies differ (median, 80th percentile, largest, root mean
square of the logarithm), the half-width of the intervals (median), and how many of the intervals overlap. A
missing bound is infinite. The last line says how many ratios of the second study lie within 25 % of the
first, and how many winners that the second names alone are surely slower than another system in the first.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from taskgrain.estimate.metg import estimate
from taskgrain.estimate.ratio import ratio
from taskgrain.results import ranking, reader
from taskgrain.results.cell import Cell, cells
from taskgrain.results.lines import MetgLine, RatioLine
from taskgrain.results.measurements import opened
from taskgrain.words.errors import UsageError
from taskgrain.words.interval import Interval

_TO = ("taskgrain_graph", "limit")
_RESAMPLES = 400
Numbers = dict[str, Interval]
"""By what they are of."""


def numbers(folder: Path) -> dict[str, Numbers]:
    """The results of a study: the last line of each cell, and the ratios after it."""
    found: dict[str, Numbers] = {"METG": {}, "work": {}, "overhead": {}, "ratio": {}}
    for line in reader.read(folder).lines:
        if isinstance(line, MetgLine):
            for kind in ("METG", "work", "overhead"):
                found[kind][line.cell] = line.number(kind.lower())
        elif isinstance(line, RatioLine):
            found["ratio"][f"{line.cell} to {line.to}"] = line.ratio
    return found


def again(folder: Path) -> dict[str, Numbers]:
    """The same from the runs of a study, by the estimate of today; ratios are to two systems."""
    every = [one for one in opened(folder).measurements if not one.earlier]
    samples = {(one.system, one.workload): [s for s in one.samples if s.iterations] for one in every}
    found: dict[str, Numbers] = {"METG": {}, "work": {}, "overhead": {}}
    found |= {f"to {other}": {} for other in _TO}
    for (system, workload), own in samples.items():
        metg = estimate(own, resamples=_RESAMPLES)
        of: Numbers = {"METG": metg.metg, "work": metg.work, "overhead": metg.overhead}
        of |= {
            f"to {other}": ratio(own, samples[other, workload], resamples=_RESAMPLES)
            for other in _TO
            if other != system and (other, workload) in samples
        }
        for kind, one in of.items():
            found[kind][f"{system}/{workload}"] = one
    return found


def common(first: Numbers, second: Numbers) -> list[tuple[Interval, Interval]]:
    """The numbers that both have."""
    pairs = ((first[name], second[name]) for name in first.keys() & second)
    return [(one, other) for one, other in pairs if one.value and other.value]


def row(kind: str, first: Numbers, second: Numbers) -> str:
    pairs = common(first, second)
    if not pairs:
        return f"{kind:18} none in both"
    apart = [abs(math.log(one.number / other.number)) for one, other in pairs]
    widths = [one.half_width for pair in pairs for one in pair]
    overlap = sum(one.ends[0] <= other.ends[1] and other.ends[0] <= one.ends[1] for one, other in pairs)
    square = math.sqrt(float(np.mean(np.square(apart))))
    usual, most = (math.expm1(float(np.quantile(apart, share))) for share in (0.5, 0.8))
    differ = f"{usual:8.1%} {most:7.1%} {math.exp(max(apart)):8.2f}x {square:7.1%}"
    return f"{kind:18} {differ} {np.median(widths):11.1%}   {overlap} of {len(pairs)}"


def standings(folder: Path) -> dict[str, ranking.Standing[Cell]]:
    """The standing of the systems of each workload that a user may choose from."""
    workloads = ranking.by_workload(cells(reader.read(folder).shown).values())
    return {name: ranking.standing(ranking.contest(found)) for name, found in workloads.items()}


def verdict(first: Path, second: Path, one: Numbers, other: Numbers) -> str:
    near = [abs(math.log(a.number / b.number)) <= math.log(1.25) for a, b in common(one, other)]
    truth = standings(first)
    alone = {name: found.ties[0].system for name, found in standings(second).items() if len(found.ties) == 1}
    behind = {name: {cell.system for cell in found.behind} for name, found in truth.items()}
    wrong = [name for name, winner in alone.items() if winner in behind.get(name, ())]
    won = f"{len(alone)} of {len(truth)} workloads have a winner, {len(wrong)} a false one"
    return f"{sum(near)} of {len(near)} ratios within 25 %; {won}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--again", action="store_true", help="estimate from the runs anew")
    options = parser.parse_args()
    try:
        first, second = map(again if options.again else numbers, (options.first, options.second))
    except UsageError as error:
        parser.error(str(error))
    print("                     differ  1 in 5   at most     rms  half-width   overlap")
    for kind in first:
        print(row(kind, first[kind], second[kind]))
    if not options.again:
        print(verdict(options.first, options.second, first["ratio"], second["ratio"]))


if __name__ == "__main__":
    main()
