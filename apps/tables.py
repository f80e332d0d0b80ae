"""Tables and plots of what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import altair as alt
import numpy as np
from experiments import Entry, Experiment, Point, System
from measure import Line, Measured
from rich import box
from rich.table import Table

from taskgrain.report import look

Value = Callable[[Line], float]


class Estimate(NamedTuple):
    """A median, and 95 % of it over resampled rounds."""

    median: float
    low: float
    high: float

    def scaled(self, factor: float) -> str:
        low, high = self.low * factor, self.high * factor
        return f"{self.median * factor:.3g} ({low:.3g} to {high:.3g})"


def estimate(values: list[float]) -> Estimate:
    picks = np.random.default_rng(0).choice(values, (1000, len(values)))
    low, high = np.quantile(np.median(picks, axis=1), [0.025, 0.975])
    return Estimate(statistics.median(values), float(low), float(high))


def by_round(measured: Measured, point: Point, value: Value) -> list[float]:
    """Of the repeat of each round that took the median time: so that a rate and its time belong together."""
    rounds = [sorted(lines, key=seconds) for lines in measured.rounds.get(point, [])]
    return [value(lines[(len(lines) - 1) // 2]) for lines in rounds]


def seconds(line: Line) -> float:
    return float(line["seconds"])


def ratio(measured: Measured, point: Point, against: Point) -> Estimate | None:
    """Of the times in the same rounds."""
    pairs = zip(by_round(measured, point, seconds), by_round(measured, against, seconds), strict=False)
    values = [one / other for one, other in pairs]
    return estimate(values) if values else None


def same_elsewhere(experiment: Experiment, entry: Entry, system: System) -> Point | None:
    """What the other system did there."""
    for other in experiment.entries:
        if other.panel == entry.panel and other.x == entry.x and other.point.system == system:
            return other.point
    return None


def table(program: str, experiment: Experiment, measured: Measured, baseline: System) -> Table:
    """A row for each system at each point, with its ratio to the baseline."""
    value, unit = quantity(program)
    title = f"{program}: {experiment.title}"
    found = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for header in ("", experiment.across, ""):
        found.add_column(header, no_wrap=True)
    for header in ("ms", unit, f"time / {baseline.title}"):
        found.add_column(header, no_wrap=True, justify="right")
    before: tuple[str, float] | None = None
    for entry in experiment.entries:
        times = by_round(measured, entry.point, seconds)
        here = (entry.panel, entry.x)
        where = ("", "") if here == before else (entry.panel, f"{entry.x:g}")
        if before is not None and here != before:
            found.add_section()
        before = here
        if not times:
            found.add_row(*where, entry.point.system.title, why_not(measured, entry.point), "", "")
            continue
        against = same_elsewhere(experiment, entry, baseline)
        compared = ratio(measured, entry.point, against) if against is not None else None
        found.add_row(
            *where, entry.point.system.title, estimate(times).scaled(1e3),
            estimate(by_round(measured, entry.point, value)).scaled(1),
            compared.scaled(1) if compared is not None else "",
        )  # fmt: skip
    return found


def why_not(measured: Measured, point: Point) -> str:
    if point in measured.refused:
        return "refused"
    return "failed" if point in measured.failed else "–"


def quantity(program: str) -> tuple[Value, str]:
    """What shows how good a time is."""
    if program == "overhead":
        return lambda line: 100 * float(line["efficiency"]), "efficiency in %"
    return lambda line: float(line["gflops"]), "Gflop/s"


def plot(program: str, experiment: Experiment, measured: Measured, path: Path) -> bool:
    """A line for each system in each panel, if there is anything to draw."""
    rows = []
    for entry in experiment.entries:
        if times := by_round(measured, entry.point, seconds):
            middle, low, high = estimate(times)
            rows.append(
                {"panel": entry.panel, "x": entry.x, "system": entry.point.system.title,
                 "ms": middle * 1e3, "low": low * 1e3, "high": high * 1e3}
            )  # fmt: skip
    if not rows:
        return False
    titles = list(dict.fromkeys(entry.point.system.title for entry in experiment.entries))
    theme = look.PAPER
    scale = alt.Scale(
        type="log" if experiment.logarithmic else "linear", zero=False, nice=False, padding=12
    )
    xs = sorted({entry.x for entry in experiment.entries})
    x = alt.X("x:Q", title=experiment.across, scale=scale, axis=alt.Axis(values=xs, format="~g", grid=False))
    colours = alt.Scale(domain=titles, range=list(theme.palette[: len(titles)]))
    colour = alt.Color("system:N", title=None, sort=titles, scale=colours)
    base = alt.Chart().encode(x=x, color=colour)
    y = alt.Y("ms:Q", title="ms", scale=alt.Scale(type="log", nice=False, padding=12))
    chart = (
        alt.layer(
            base.mark_line(strokeWidth=1).encode(y=y),
            base.mark_rule(opacity=0.6).encode(y=alt.Y("low:Q", title="ms"), y2="high:Q"),
            base.mark_point(filled=True, size=18).encode(
                y=y, shape=alt.Shape("system:N", title=None, sort=titles, scale=alt.Scale(domain=titles))
            ),
        )
        .properties(width=220, height=180)
        .facet(column=alt.Column("panel:N", title=None, sort=None), data=alt.Data(values=rows))
        .properties(title=f"{program}: {experiment.title}")
        .configure(font=theme.font)
    )
    chart.save(path)
    return True
