"""The type of a chart: its plots, which the page shows, and papers as figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import altair as alt
from markupsafe import Markup

from taskgrain.answers.data import Results
from taskgrain.report import look
from taskgrain.report.look import PAGE, Spec, Style
from taskgrain.report.rows import Row
from taskgrain.words.table import Table

Drawn = alt.LayerChart | alt.FacetChart | alt.ConcatChart | alt.VConcatChart
ONE_COLUMN, BOTH_COLUMNS = 241.0, 504.0
"""Points (1/72 inch), of the two-column formats of ACM and IEEE: 3.35 and 7 inches."""


NO_CELL = -1
"""The number in the place of a cell's, for rows of a plot that are no system's."""


@dataclass(frozen=True)
class Section:
    """A part of the page, with the plots of one chart."""

    id: str
    title: str
    intro: Callable[[Results], Markup]
    """The text above the plots, as HTML."""


@dataclass(frozen=True)
class Plot:
    """A plot on the page and on paper. The page's script fills its data sets from the cells drawn."""

    id: str
    """The id of its element: letters, digits and hyphens."""
    heading: str
    """Untrusted, as the names of workloads are."""
    label: str
    """The text that a screen reader says. Untrusted."""
    key: str
    """Plots of one key have one specification."""
    file: str
    """The name of the figure's file. Untrusted."""
    draw: Callable[..., Drawn]
    """Makes the chart for a theme, and a width in points; without one it is as wide as its element."""
    cells: tuple[int, ...]
    """The numbers of the cells that it shows."""
    shows: Literal["rows", "points", "own"]
    """A row for each cell, the points of its curve, or rows of the plot's own."""
    needs_peak: bool = False
    """Leaves out cells whose peak is not known."""
    row_height: int = 0
    """Pixels for each row, where the height follows the rows."""
    levels: Sequence[Row] = ()
    """The dashed lines."""
    most: float = 1.0
    """The end of the axis that the specification calls `most`."""
    own: Mapping[int, Sequence[Row]] = field(default_factory=dict)
    """The rows of the plot's own, by the number of the cell."""
    by_system: bool = True
    """True if each system has a line, so that a figure names the systems below it."""

    def spec(self) -> Spec:
        return look.finish(self.draw(PAGE), PAGE) | {"padding": {"top": 4, "bottom": 4}}

    def options(self) -> dict[str, object]:
        """The options for the script."""
        names = ("cells", "shows", "needs_peak", "row_height", "levels", "most", "own")
        return {"spec": self.key} | {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Figure:
    """A plot as a file for a paper."""

    name: str
    """The name of the file. Untrusted."""
    draw: Callable[..., Drawn]
    """Makes the chart with plots of so many points across."""
    data: dict[str, list[Row]]
    width: float = ONE_COLUMN
    """The width of the whole figure, in points."""
    plots: int = 1
    """The number of plots that stand side by side."""
    key: Mapping[str, Style] = field(default_factory=dict)
    """The systems that have a line, which are named below the plot."""


def table(one: Table) -> Markup:
    """A table for the text above plots."""

    def row(values: Sequence[str], cell: str) -> Markup:
        return Markup("<tr>{}</tr>").format(Markup("").join(Markup(cell).format(one) for one in values))

    return Markup(
        '<div class="scroll hinted" tabindex="0" role="region" aria-label="{}"><table>'
        "<thead>{}</thead>\n<tbody>{}</tbody></table></div>"
    ).format(
        one.title,
        row(one.columns, "<th>{}</th>"),
        Markup("\n").join(row(each, '<td class="nowrap">{}</td>') for each in one.rows),
    )


class Chart(Protocol):
    """The members of each module of charts."""

    @property
    def SECTION(self) -> Section: ...

    def plots(self, results: Results) -> Iterable[Plot]:
        """Its plots; none if the results lack what it needs."""
