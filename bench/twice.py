"""How well two studies of the same machine agree.

    python bench/twice.py results/first results/second

Prints, for METG, the work at METG (which is METG at one clock), the overhead of a task and the ratios: by how
much the two studies differ (median, largest, root mean square of the logarithm), the half-width of the
intervals (median), and how many of the intervals overlap. A missing bound is infinite.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from taskgrain.results import reader
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


if __name__ == "__main__":
    main()
