"""A synthetic results folder of a machine that is anything but quiet: nothing is measured."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import results_folder
from results_folder import Line

SYSTEMS = results_folder.SYSTEMS[:10]
PATTERNS = ("stencil_1d", "nearest/radix=3", "nearest/radix=5")
WIDEST = 10**4.5
"""The distance of each of two bounds, which are a factor of 10⁹ apart, from the number."""

Bounds = Callable[[float], tuple[float | None, float | None]]
BOUNDS: tuple[Bounds, ...] = (
    lambda metg: (metg * 0.95, metg * 1.05),
    lambda metg: (metg / 4, None),
    lambda metg: (None, metg * 3),
    lambda metg: (None, None),
    lambda metg: (metg / WIDEST, metg * WIDEST),
    lambda metg: (metg / 900, metg * 1.2),
)
EXTREME = {3: 1e-12, 17: 1.0}
"""METG of two cells in seconds; all others lie around a microsecond."""
ENDINGS = {5: "never_reached", 11: "always_reached", 14: "failed", 23: "several_crossings", 28: ""}
"""The endings of these cells, by number; the others ran out of time. The last one is unfinished."""


def folder(path: Path) -> Path:
    """Thirty cells with all that noise does to bounds, to points of curves and to their samples."""
    noise, lines = random.Random(14), [results_folder.REFERENCE]
    for number in range(len(SYSTEMS) * len(PATTERNS)):
        pattern, system = PATTERNS[number // len(SYSTEMS)], SYSTEMS[number % len(SYSTEMS)]
        cell = results_folder.cell_name(system, pattern)
        ending = ENDINGS.get(number, "budget")
        metg = EXTREME.get(number, 1e-6 * math.exp(noise.gauss(0, 1)))
        busy = {"code": "machine_busy", "share": number / 100}
        ended = results_folder.metg_line(cell, metg, ending or "budget", [busy])
        low, high = BOUNDS[number % len(BOUNDS)](metg)
        if ended["metg"]:
            ended |= {"low": low, "high": high}
        points = _points(ended, noise)
        runs = [
            results_folder.run_line(cell, one["iterations"], one["granularity"] * math.exp(noise.gauss(0, 2)))
            for one in points
            for _ in range(3)
        ]
        lines += [results_folder.cell_line(system, pattern)]
        lines += [run | {"disturbed": noise.random() < 0.3} for run in runs]
        if ending == "failed":
            lines += [results_folder.failure_line(cell), ended | {"curve": [], "floor": None}]
        elif ending:
            lines.append(ended | {"curve": points})
    return results_folder.write(path, lines)


def _points(ended: Line, noise: random.Random) -> list[Line]:
    """The curve, with bounds that are missing, far away, or below zero; some points lie above the peak."""
    curve = ended["curve"]
    assert isinstance(curve, list)
    points: list[Line] = []
    for place, one in enumerate(curve):
        low, high = BOUNDS[place % len(BOUNDS)](one["granularity"])
        share = one["efficiency"] * math.exp(noise.gauss(0, 0.7))
        bounds = BOUNDS[(place + 2) % len(BOUNDS)](share)
        if place == 4:
            bounds = (-3.0, 1e6)
        points.append(one | {
            "granularity_low": low, "granularity_high": high,
            "efficiency": share, "efficiency_low": bounds[0], "efficiency_high": bounds[1],
        })  # fmt: skip
    return points
