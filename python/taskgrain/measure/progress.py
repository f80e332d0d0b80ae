"""Shows the progress of a study on standard error: a bar on a terminal, else plain lines; nothing if quiet.

The bar is drawn between runs only, and by no thread of its own: it would disturb what is measured.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.table import Column

from taskgrain.drive.system import System
from taskgrain.words.breaks import SENTENCE, folded

_LINE_SECONDS = 10.0
_BAR_WIDTH = 12
_MOST = 0.99
"""The share while cells are not done."""


def duration(seconds: float) -> str:
    """Shows seconds for a person who waits: `45 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(max(0.0, seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@dataclass(frozen=True)
class Progress:
    done: int
    """Cells; all of them end late, because they are measured in turn."""
    cells: int
    seconds: float
    """Seconds that the study has taken."""
    seconds_left: float | None
    """The seconds left; None while nobody can tell."""
    current: str
    at_most: bool = False
    """True if it ends by then in any case, and maybe before."""
    least: float = 0.0
    """The share that was shown before."""

    @property
    def share(self) -> float:
        """The share of the whole time, from 0 to 1, which it is only at the end. It never falls."""
        if self.seconds_left is None:
            return self.least
        found = self.seconds / (self.seconds + self.seconds_left) if self.seconds_left > 0.0 else 1.0
        return max(self.least, found if self.done == self.cells else min(found, _MOST))

    def __str__(self) -> str:
        said = f"{self.share:4.0%}, {self.done} of {self.cells} cells"
        if self.seconds_left is not None:
            said += f", {'at most' if self.at_most else 'about'} {duration(self.seconds_left)} left"
        return f"{said}: {self.current}"


class Reporter:
    """A display that shows nothing; the base of those that do."""

    def show(self, progress: Progress) -> None:
        """Shows the progress: it is called between runs."""

    def note(self, text: str) -> None:
        """Says something that is worth a line."""

    def close(self) -> None:
        """Takes the bar away."""


class Lines(Reporter):
    """Plain lines, a few a minute."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = (-1, 0.0)

    def show(self, progress: Progress) -> None:
        done, at = self._last
        now = time.monotonic()
        if progress.done != done or now - at > _LINE_SECONDS:
            self._last = (progress.done, now)
            self._print(str(progress).lstrip())

    def note(self, text: str) -> None:
        self._print(text)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class Bar(Reporter):
    """A bar on a terminal."""

    def __init__(self, console: Console) -> None:
        # The bar keeps its width, and a long name loses its end: else the bar jumps with each name.
        bar = BarColumn(_BAR_WIDTH, table_column=Column(no_wrap=True, min_width=_BAR_WIDTH))
        text = Column(no_wrap=True, overflow="ellipsis")
        columns = (bar, TextColumn("{task.description}", markup=False, table_column=text))
        self._bar = Bars(*columns, console=console, auto_refresh=False, transient=True)
        self._console = console
        self._task: TaskID | None = None

    def show(self, progress: Progress) -> None:
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("", total=1.0)
        self._bar.update(self._task, completed=progress.share, description=str(progress), refresh=True)

    def note(self, text: str) -> None:
        text = folded(text, self._console.width, SENTENCE)
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        self._bar.stop()


def through(systems: Sequence[System], quiet: bool) -> Generator[System]:
    """The systems one after the other; before each it shows how far it is, as if all took as long."""
    shown = reporter(quiet)
    begin = time.monotonic()
    try:
        for number, one in enumerate(systems):
            seconds = time.monotonic() - begin
            left = seconds / number * (len(systems) - number) if number else None
            shown.show(Progress(number, len(systems), seconds, left, one.name))
            yield one
    finally:
        shown.close()


def reporter(quiet: bool) -> Reporter:
    """The display that fits standard error."""
    if quiet:
        return Reporter()
    console = Console(stderr=True)
    return Bar(console) if console.is_terminal else Lines(console)
