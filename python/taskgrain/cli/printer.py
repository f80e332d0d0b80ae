"""The output on a terminal: lines and tables, in ASCII where it knows nothing else; or JSON for programs."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from typing import Literal, TextIO
from weakref import WeakSet

from rich import box
from rich import table as rich
from rich.console import Console
from rich.text import Text

from taskgrain.words.breaks import NAME, NUMBER, SENTENCE, folded, parts
from taskgrain.words.plain import finite
from taskgrain.words.table import Table

_PIPED_WIDTH = 10_000
"""The width where only a program or a file gets the lines: nothing is wrapped."""
_STEPS = ((0, 0), (2, 0), (2, 1), (2, 2), (3, 2), (3, 3))
"""The kinds of places at which names and numbers break: more where a table is still too wide."""
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
        """The width of the terminal, in characters."""
        return self._width

    def text(self, said: str, style: str = "") -> None:
        """Sentences, which go on in a new line where a word has no room."""
        lines = (folded(line, self._console.width, SENTENCE) for line in self._known(said).split("\n"))
        self.whole("\n".join(lines), style)

    def whole(self, line: str, style: str = "") -> None:
        """A line to be copied, such as a path, unchanged except for characters that the terminal lacks."""
        self._console.print(Text(self._known(line), style), soft_wrap=True, highlight=False)

    def _known(self, text: str) -> str:
        """The text in characters that the terminal has; no terminal has the odd bytes of some file names."""
        text = text.translate(_ASCII) if self._plain else text
        known = "ascii" if self._plain else "utf-8"
        return text.encode(known, "replace").decode(known)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        bold: Sequence[Sequence[bool]] = (),
        texts: int = 1,
    ) -> None:
        """The first `texts` columns are aligned to the left, the others to the right.

        Where there is no room, texts and then numbers go on in a new line, but never inside of a word. A
        table that is still too wide becomes several, and each has the first column.
        """
        lines = [[self._known(cell) for cell in line] for line in (columns, *rows)]
        widths = _widths(lines)
        for names, numbers in _STEPS if len(columns) < 3 else _STEPS[:-1]:  # others can become several
            body = [NAME[:names] if place < texts else NUMBER[:numbers] for place in range(len(columns))]
            places = [[NAME[:names]] * len(columns), *[body] * len(rows)]
            least = _widths(lines, places)
            self._narrow(widths, least)
            if _size(widths) <= self._console.width:
                break
        shares = self._shares(least)
        if len(shares) == 1:
            marks = [[False] * len(columns), *(bold or [[False] * len(columns)] * len(rows))]
            self._print(lines, places, marks, texts, widths)
            return
        for share in shares:
            head, *some = ([line[place] for place in share] for line in lines)
            here = [[marks[place] for place in share] for marks in bold]
            self.table(head, some, here, sum(place < texts for place in share))

    def show(self, table: Table) -> None:
        """A table below its title."""
        if table.title:
            self.text(table.title, "bold")
        self.table(table.columns, table.rows, texts=table.texts)

    def fits(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Tells whether no line of a table must be broken on the terminal."""
        return (
            _size(_widths([[self._known(cell) for cell in line] for line in (columns, *rows)])) <= self.width
        )

    def _narrow(self, widths: list[int], least: Sequence[int]) -> None:
        """Makes columns narrower as long as the table is too wide: first those that can spare most."""
        while _size(widths) > self._console.width and widths != least:
            widths[max(range(len(widths)), key=lambda place: widths[place] - least[place])] -= 1

    def _shares(self, least: Sequence[int]) -> list[list[int]]:
        """The columns of each table; the first is in all, with one more at least."""
        shares = [[0]]
        for place in range(1, len(least)):
            if (
                len(shares[-1]) > 1
                and _size([least[one] for one in (*shares[-1], place)]) > self._console.width
            ):
                shares.append([0])
            shares[-1].append(place)
        return shares

    def _print(
        self,
        lines: Sequence[Sequence[str]],
        places: Sequence[Sequence[Sequence[str]]],
        bold: Sequence[Sequence[bool]],
        texts: int,
        widths: Sequence[int],
    ) -> None:
        head, *rows = (
            [
                Text(folded(cell, width, kind), "bold" if mark else "")
                for cell, width, kind, mark in zip(line, widths, kinds, marks, strict=True)
            ]
            for line, kinds, marks in zip(lines, places, bold, strict=True)
        )
        table = rich.Table(box=box.ASCII2 if self._plain else box.SIMPLE_HEAD, pad_edge=False)
        for place, (name, width) in enumerate(zip(head, widths, strict=True)):
            side: Literal["left", "right"] = "left" if place < texts else "right"
            table.add_column(name, justify=side, overflow="fold", width=width)
        for row in rows:
            table.add_row(*row)
        self._console.print(table)


def _size(widths: Sequence[int]) -> int:
    """The width of a table, in characters."""
    return sum(widths) + 3 * len(widths) - 1


def _widths(
    lines: Sequence[Sequence[str]], places: Sequence[Sequence[Sequence[str]]] | None = None
) -> list[int]:
    """The widths of the columns if their cells break at all these places, or at none."""
    kinds = places or [[()] * len(line) for line in lines]
    return [
        max(
            len(part.rstrip()) for cell, kind in zip(column, kinds, strict=True) for part in parts(cell, kind)
        )
        for column, kinds in zip(zip(*lines, strict=True), zip(*kinds, strict=True), strict=True)
    ]


class _Console(Console):
    """A console that tells whether anybody still reads it, and does not end the program if not."""

    def on_broken_pipe(self) -> None:
        with contextlib.suppress(SystemExit):
            super().on_broken_pipe()
        raise BrokenPipeError


def printer() -> Printer:
    """The one of standard output."""
    console = _Console()
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
