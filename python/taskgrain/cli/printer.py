"""What a terminal shows: lines and tables, in ASCII where it knows nothing else; or JSON for programs."""

from __future__ import annotations

import json
import operator
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Literal, TextIO
from weakref import WeakSet

from rich import box
from rich import table as rich
from rich.console import Console
from rich.text import Text

from taskgrain.words.finite import finite
from taskgrain.words.table import Table

_PIPED_WIDTH = 10_000
"""Where nobody sees the lines but a program or a file, nothing is wrapped."""
_NARROWEST = 12
"""Characters that a name gets at least."""
_SHORT = 32
"""Characters of a name where a table has no room."""
_ASCII = str.maketrans(
    {"µ": "u", "\u2013": "-", "\u00d7": "x", "≤": "<=", "…": "...", "—": "-", "·": " "}
    | dict(zip("▁▂▃▄▅▆▇█", "_.,-=+*#", strict=True))
)


class Printer:
    """Prints tables that fit `console`, in ASCII where its encoding knows nothing else."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = console.width
        self._plain = not str(console.encoding or "").lower().startswith("utf")

    @property
    def width(self) -> int:
        """Of the terminal, in characters."""
        return self._width

    def text(self, line: str, style: str = "") -> None:
        """A line, unchanged but for its characters."""
        self._console.print(self._shown(line, style), soft_wrap=True, highlight=False)

    def _shown(self, text: str, style: str = "") -> Text:
        known = "ascii" if self._plain else "utf-8"  # which has no place for the odd bytes of a file's name
        text = text.translate(_ASCII) if self._plain else text
        return Text(text.encode(known, "replace").decode(known), style=style)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        bold: Sequence[Sequence[bool]] = (),
        texts: int = 1,
        whole: int = 0,
    ) -> None:
        """The first `texts` columns are aligned to the left, the others to the right.

        The first `whole` columns are not wrapped while the words of the others have room; long names in the
        first are cut in their middle where the table has no room, and they stay different.
        """
        if whole and self._wide(columns, rows) > self._console.width:
            rows = _with_short_names(rows)
        widths = self._widths(columns, rows, whole)
        if whole and not widths:
            beside = sum(
                _longest_word(column) + 3
                for column in zip(columns[1:], *(row[1:] for row in rows), strict=True)
            )
            rows = [[folded(row[0], self._console.width - beside - 2), *row[1:]] for row in rows]
            widths, whole = self._widths(columns, rows, 0), 0
        self._console.print(self._made(columns, rows, bold, texts, whole, widths))

    def show(self, table: Table, whole: int = 0) -> None:
        """A table below its title."""
        if table.title:
            self.text(table.title, "bold")
        self.table(table.columns, table.rows, texts=table.texts, whole=whole)

    def fits(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Whether no column of a table must be wrapped."""
        return self._wide(columns, rows) <= self.width

    def _wide(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
        widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
        return sum(widths) + 3 * len(widths) - 1

    def _widths(self, columns: Sequence[str], rows: Sequence[Sequence[str]], whole: int) -> list[int]:
        """Widths of the columns that break no word; nothing if there is no room for that."""
        cells = list(zip(columns, *rows, strict=True))
        widths = [max(len(line) for cell in column for line in cell.split("\n")) for column in cells]
        least = [*widths[:whole], *map(_longest_word, cells[whole:])]
        for _ in range(sum(widths) + 3 * len(widths) - 1 - self._console.width):
            widest = max(range(len(widths)), key=lambda index: widths[index] - least[index])
            widths[widest] -= 1
        return widths if all(map(operator.ge, widths, least)) else []

    def _made(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        bold: Sequence[Sequence[bool]],
        texts: int,
        whole: int,
        widths: Sequence[int],
    ) -> rich.Table:
        table = rich.Table(box=box.ASCII2 if self._plain else box.SIMPLE_HEAD, pad_edge=False)
        for index, name in enumerate(columns):
            side: Literal["left", "right"] = "left" if index < texts else "right"
            width = widths[index] if widths else None
            table.add_column(
                self._shown(name), justify=side, overflow="fold", no_wrap=index < whole, width=width
            )
        for number, row in enumerate(rows):
            marks = bold[number] if bold else [False] * len(row)
            table.add_row(*(self._shown(t, "bold" if m else "") for t, m in zip(row, marks, strict=True)))
        return table


def _longest_word(column: Sequence[str]) -> int:
    return max((len(word) for cell in column for word in cell.split()), default=0)


def folded(name: str, room: int) -> str:
    """The name in lines of so many characters, `_NARROWEST` at least, which end behind what parts names."""
    lines = [""]
    for part in re.findall(r"[^/._ ]*[/._ ]|[^/._ ]+$", name):
        if lines[-1] and len(lines[-1]) + len(part) > max(_NARROWEST, room):
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _with_short_names(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    half = _SHORT // 2
    cut = {name: f"{name[:half]}…{name[-half:]}" for name, *_ in rows if len(name) > _SHORT + len("...")}
    shown = Counter(cut.values())
    return [[cut[name] if shown[cut.get(name, name)] == 1 else name, *row] for name, *row in rows]


def printer() -> Printer:
    """The one of standard output."""
    console = Console()
    made = Printer(console)
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    return made


_answered: WeakSet[TextIO] = WeakSet()
"""Outputs that have a JSON document."""


def print_json(value: object) -> None:
    """Prints a value for programs: strict JSON, with null for a number that is not finite."""
    _answered.add(sys.stdout)
    sys.stdout.write(json.dumps(finite(value), indent=1, allow_nan=False, default=str) + "\n")


def print_error(message: str, exit_code: int) -> None:
    """Prints for programs why a command ends, unless it has printed its answer."""
    if sys.stdout not in _answered:
        print_json({"schema": 1, "error": message, "exit_code": exit_code})
