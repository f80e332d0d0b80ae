"""How well two studies of the same machine agree.

    python bench/twice.py results/first results/second

Prints, for METG, the work at METG (which is METG at one clock), the overhead of a task and the ratios: by how
much the two studies differ (median, largest, root mean square of the logarithm), the half-width of the
intervals (median), and how many of the intervals overlap. A missing bound is infinite. The last line says how
many ratios of the second study lie within 25 % of the first, and how many winners that the second names alone
are surely slower than another system in the first.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from taskgrain.results import ranking, reader
from taskgrain.results.cell import Cell, cells
from taskgrain.results.lines import MetgLine, RatioLine
from taskgrain.words.errors import UsageError

Numbers = dict[str, tuple[float, float, float]]
"""Values with the ends of their intervals, by what they are of."""


def numbers(folder: Path) -> dict[str, Numbers]:
    """What a study came to: of each cell its last line, and the ratios after it."""
    found: dict[str, Numbers] = {"METG": {}, "work": {}, "overhead": {}, "ratio": {}}

    def put(kind: str, name: str, value: float | None, low: float | None, high: float | None) -> None:
        if value:
            found[kind][name] = value, low or 0.0, high or math.inf

    for line in reader.read(folder).lines:
        if isinstance(line, MetgLine):
            put("METG", line.cell, line.metg, line.low, line.high)
            put("work", line.cell, line.work, line.work_low, line.work_high)
            put("overhead", line.cell, line.overhead, line.overhead_low, line.overhead_high)
        elif isinstance(line, RatioLine):
            put("ratio", f"{line.cell} to {line.to}", line.value, line.low, line.high)
    return found


def row(kind: str, first: Numbers, second: Numbers) -> str:
    common = sorted(first.keys() & second.keys())
    if not common:
        return f"{kind:9} none in both"
    apart = [abs(math.log(first[name][0] / second[name][0])) for name in common]
    both = [side[name] for side in (first, second) for name in common]
    widths = [(high - low) / (2.0 * value) for value, low, high in both]
    overlap = sum(first[one][1] <= second[one][2] and second[one][1] <= first[one][2] for one in common)
    square = math.sqrt(float(np.mean(np.square(apart))))
    differ = f"{math.expm1(float(np.median(apart))):8.1%} {math.exp(max(apart)):8.2f}x {square:7.1%}"
    return f"{kind:9} {differ} {np.median(widths):11.1%}   {overlap} of {len(common)}"


def standings(folder: Path) -> dict[str, ranking.Standing[Cell]]:
    """How the systems of each workload stand that a user may choose from."""
    workloads = ranking.by_workload(cells(reader.read(folder).shown).values())
    return {name: ranking.standing(ranking.contest(found)) for name, found in workloads.items()}


def verdict(first: Path, second: Path, one: Numbers, other: Numbers) -> str:
    near = [abs(math.log(one[name][0] / other[name][0])) <= math.log(1.25) for name in one.keys() & other]
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
    options = parser.parse_args()
    try:
        first, second = numbers(options.first), numbers(options.second)
    except UsageError as error:
        parser.error(str(error))
    print("          differ   at most     rms  half-width   overlap")
    for kind in first:
        print(row(kind, first[kind], second[kind]))
    print(verdict(options.first, options.second, first["ratio"], second["ratio"]))


if __name__ == "__main__":
    main()
