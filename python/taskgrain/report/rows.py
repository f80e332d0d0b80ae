"""The data of the charts: plain rows, in which alone untrusted text may stand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

from taskgrain.answers.data import Cell, Point, Results
from taskgrain.report.look import AT_LEAST, AT_MOST, SHAPES, meant, near
from taskgrain.results import columns, outcome
from taskgrain.words import quantity
from taskgrain.words.interval import Interval

Row = dict[str, object]
FAR = 1e200
"""Stands for an upper bound that is missing, where a lower one is 0: JSON knows no infinity."""
MOST_SAMPLES = 60_000
"""The most samples in one report. More would make the page heavy, and show nothing more."""


def numbers(results: Results, workload: str) -> list[int]:
    """The cells of a workload, by their places in `results.cells`."""
    return [i for i, cell in enumerate(results.cells) if cell.workload == workload]


def metg(results: Results) -> list[Row]:
    """A row for each cell with its result, in order."""
    ranks = {system: rank for rank, system in enumerate(results.ranked)}
    return [
        {
            "cell": index,
            "system": cell.system,
            "rank": ranks[cell.system],
            "x": short(cell.metg.about),
            "metg": short(cell.metg.value),
            "low": low,
            "high": high,
            "certain": cell.metg.known,
            "least": short(min(meant(reach(cell)), default=None)),
            "most": short(max(meant(reach(cell)), default=None)),
            "floor_at": short(cell.number("floor").value),
            "mark": _mark(cell.metg),
            "text": outcome.short(cell),
            "METG": outcome.long(cell),
            "floor": quantity.interval(cell.number("floor")),
            "ending": cell.ending.replace("_", " "),
            "rounds": quantity.NOTHING if cell.rounds is None else cell.rounds,
            "dependences": columns.mean_dependences(cell),
        }
        for index, cell in enumerate(results.cells)
        for low, high in [_drawn(*cell.metg.ends) if cell.metg.about is not None else (None, None)]
    ]


def reach(cell: Cell) -> list[float | None]:
    """Returns the values of a cell that the axis of METG has to show."""
    return [*near(cell.metg.about, *cell.metg.ends), cell.number("floor").value]


def _mark(metg: Interval) -> str:
    if metg.value is not None or metg.about is None:
        return SHAPES[0]
    return AT_LEAST if metg.high is None else AT_MOST


def points(cell: Cell, index: int) -> list[Row]:
    """The curve of cell number `index`: rate is in the cell's own unit."""
    return [
        {
            "cell": index,
            "system": cell.system,
            "iterations": short(point.iterations),
            "granularity": short(point.granularity),
            "granularity_low": shortest,
            "granularity_high": longest,
            "lasts": quantity.interval(point.time) + outcome.missing(point.time),
            "efficiency": short(point.efficiency),
            "efficiency_low": worst,
            "efficiency_high": best,
            "certain": None
            not in (
                point.granularity_low,
                point.granularity_high,
                point.efficiency_low,
                point.efficiency_high,
            ),
            "reached": _percents(point) + outcome.missing(point.share),
            "rate": short(_times(cell.peak_rate, point.efficiency)),
            "rate_low": short(_times(cell.peak_rate, worst)),
            "rate_high": short(_times(cell.peak_rate, best)),
            "speed": quantity.rate(_times(cell.peak_rate, point.efficiency), cell.work_unit),
            "repeats": point.repeats,
        }
        for point in cell.points
        for shortest, longest in [_ends(point.granularity_low, point.granularity_high)]
        for worst, best in [_ends(point.efficiency_low, point.efficiency_high)]
    ]


def most_samples(results: Results) -> int:
    """The most samples of a point that the page takes."""
    counts = [len(one.samples) + len(one.disturbed) for cell in results.cells for one in cell.points]
    total = sum(counts)
    return max(counts, default=0) if total <= MOST_SAMPLES else max(3, MOST_SAMPLES // len(counts))


def thinned(samples: Sequence[float], point: Point, most: int) -> list[int]:
    """Takes at most `most` samples, evenly spread in their order: 1000 ln(sample / the point's median)."""
    step = max(1.0, len(samples) / most) if most else 1.0
    chosen = (samples[int(i * step)] for i in range(min(len(samples), most)))
    return [round(1000 * math.log(one / point.granularity)) for one in chosen]


def best_efficiency(point: Point) -> float:
    """The highest of its samples, disturbed ones too."""
    samples = (*point.samples, *point.disturbed)
    return point.efficiency * point.granularity / min(samples, default=point.granularity)


def thresholds(cells: Iterable[Cell]) -> list[Row]:
    """The dashed lines of the chart of efficiency."""
    return [
        {"value": one, "text": quantity.percent(one)} for one in sorted({cell.threshold for cell in cells})
    ]


def peaks(cells: Iterable[Cell]) -> list[Row]:
    """The dashed line of the chart of rate."""
    known = [cell.peak_rate for cell in cells if cell.peak_rate is not None]
    return [{"value": median(known), "text": "peak"}] if known else []


REACH = 1.5
"""The multiple of its number up to which an upper bound stretches an axis that is not logarithmic."""


def most(field: str, levels: Iterable[Row], points: Iterable[Row]) -> float:
    """The end of the axis of a field of points, with its dashed lines; the page's script has its own."""
    ends = [value for one in levels if isinstance(value := one["value"], float)]
    for point in points:
        middle, high = point[field], point[f"{field}_high"]
        if isinstance(middle, float):
            ends.append(min(high, REACH * middle) if isinstance(high, float) else middle)
    return 1.05 * max(ends, default=1.0)


def short(value: float | None) -> float | None:
    """Rounds to five digits: as much as a pixel can show, at half the size of the page's data."""
    return None if value is None else float(f"{value:.5g}")


def _drawn(low: float, high: float) -> tuple[float | None, float | None]:
    return short(low), short(min(high, FAR))


def _ends(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """The ends of a point's interval; none without bounds: a line across the plot would hide others."""
    if low is None and high is None:
        return None, None
    return _drawn(0.0 if low is None else low, math.inf if high is None else high)


def _times(rate: float | None, share: float | None) -> float | None:
    return None if rate is None or share is None else rate * share


def _percents(point: Point) -> str:
    low, high = (
        "?" if one is None else f"{100 * one:.1f}" for one in (point.efficiency_low, point.efficiency_high)
    )
    middle = f"{100 * point.efficiency:.1f} %"
    return middle if low == high == "?" else f"{middle} ({low} – {high})"
