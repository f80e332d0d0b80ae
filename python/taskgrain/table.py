"""Results in a terminal: systems against workloads, the best of each bold; plain where the terminal is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from taskgrain import notices, quantity

_ASCII = str.maketrans({"µ": "u", "\u2013": "-", "\u00d7": "x", "≤": "<=", "…": "...", "—": "-"})
_WORDS = {
    "never_reached": "never",
    "several_crossings": "several",
    "failed": "failed",
    "budget": quantity.NOTHING,
    "precise": quantity.NOTHING,
}
Row = Mapping[str, Any]


def value(row: Row) -> str:
    """A cell's METG with its interval, or why there is none."""
    if row["metg"] is not None:
        return quantity.interval(row["metg"], row["low"], row["high"])
    if row["ending"] == "always_reached":
        return f"≤ {quantity.seconds(row['high'], 2)}"
    return _WORDS.get(str(row["ending"]), str(row["ending"]))


def best(rows: Sequence[Row]) -> float | None:
    """The smallest METG of a workload among the systems that use all of its cores: half of a machine is no
    match for the whole of it."""
    most = max((row["cores"] for row in rows), default=0)
    metgs = (row["metg"] for row in rows if row["cores"] == most)
    return min((metg for metg in metgs if metg is not None), default=None)


class Printer:
    """Prints tables that fit `console`, in ASCII where its encoding knows nothing else."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._plain = not str(console.encoding or "").lower().startswith("utf")

    def text(self, line: str, style: str = "") -> None:
        """A line, unchanged but for its characters."""
        self._console.print(self._shown(line, style), soft_wrap=True, highlight=False)

    def _shown(self, text: str, style: str = "") -> Text:
        if self._plain:
            text = str(text.translate(_ASCII).encode("ascii", "replace"), "ascii")
        return Text(text, style=style)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        bold: Sequence[Sequence[bool]] = (),
        texts: int = 1,
    ) -> None:
        """The first `texts` columns are aligned to the left, the others to the right."""
        self._console.print(self._made(columns, rows, bold, texts))

    def _made(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        bold: Sequence[Sequence[bool]],
        texts: int,
    ) -> Table:
        table = Table(box=box.ASCII2 if self._plain else box.SIMPLE_HEAD, pad_edge=False)
        for index, name in enumerate(columns):
            table.add_column(self._shown(name), justify="left" if index < texts else "right", overflow="fold")
        for number, row in enumerate(rows):
            marks = bold[number] if bold else [False] * len(row)
            table.add_row(*(self._shown(t, "bold" if m else "") for t, m in zip(row, marks, strict=True)))
        return table

    def metg(self, rows: Sequence[Row], titles: Mapping[str, str], threshold: float) -> None:
        """METG of systems (rows) and workloads (columns); one table a workload where they would not fit."""
        workloads = list(dict.fromkeys(row["workload"] for row in rows))
        systems = list(dict.fromkeys(row["system"] for row in rows))
        found = {(row["system"], row["workload"]): row for row in rows}
        smallest = {name: best([row for row in rows if row["workload"] == name]) for name in workloads}
        self.text(
            f"METG({threshold:.0%}): the smallest task of {threshold:.0%} efficiency, with 95 % intervals"
        )
        lines: list[list[str]] = []
        marks: list[list[bool]] = []
        for system in systems:
            cells = [found.get((system, name)) for name in workloads]
            lines.append(
                [titles.get(system, system), *(value(cell) if cell else quantity.NOTHING for cell in cells)]
            )
            marks.append([False, *(_is_best(cell, smallest) for cell in cells)])
        if len(workloads) == 1 or not self._fits(["system", *workloads], lines):
            self._one_by_one(workloads, systems, found, titles, smallest)
        else:
            self.table(["system", *workloads], lines, marks)

    def warnings(self, rows: Sequence[Row]) -> None:
        """What to know of the numbers above, each kind of warning once."""
        for notice in notices.grouped((row["cell"], warning) for row in rows for warning in row["warnings"]):
            first, *others = notice.cells
            where = f"{first} (and, with other numbers, {len(others)} more cells)" if others else first
            self.text(f"{where}: {notice.text}", "yellow")

    def _fits(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        widths = [max(len(line[index]) for line in [columns, *rows]) for index in range(len(columns))]
        return sum(widths) + 3 * len(widths) <= self._console.width

    def _one_by_one(
        self,
        workloads: Sequence[str],
        systems: Sequence[str],
        found: Mapping[tuple[str, str], Row],
        titles: Mapping[str, str],
        smallest: Mapping[str, float | None],
    ) -> None:
        for name in workloads:
            lines, marks = [], []
            for system in systems:
                if row := found.get((system, name)):
                    # Alone, a workload has room for what cross-checks METG.
                    floor = quantity.seconds(row.get("floor"), 2)
                    lines.append(
                        [titles.get(system, system), value(row), floor, str(row["rounds"]), row["ending"]]
                    )
                    marks.append([False, _is_best(row, smallest), False, False, False])
            self.text("\n" + name, "bold")
            self.table(["system", "METG", "floor", "rounds", "ending"], lines, marks)


def _is_best(row: Row | None, smallest: Mapping[str, float | None]) -> bool:
    return row is not None and row["metg"] is not None and row["metg"] == smallest[row["workload"]]
