"""Writes what is measured: each line to the store, and into the record as a later call will read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from taskgrain.measure.record import Record
from taskgrain.measure.timing import Timing
from taskgrain.results.lines import Line
from taskgrain.results.store import Store
from taskgrain.words.interrupts import uninterrupted


class Journal:
    """Appends lines, the first after that of the session. `elapsed` says how many seconds the study has
    measured by now."""

    def __init__(self, store: Store, record: Record, elapsed: Callable[[], float], timing: Timing) -> None:
        self._timing = timing
        self._store, self._record, self._elapsed = store, record, elapsed
        self._session = store.session and replace(store.session, elapsed=round(record.elapsed, 6))
        self.begun = False
        """True once it has written something."""

    @uninterrupted
    def append(self, line: Line) -> None:
        """Writes a line with the times of now, and takes it into the record. An interrupt comes before both,
        or after: it may wait for the decision at the end of a round.

        Raises `OutputError` if it cannot be written, and `ValueError` for values that a reader would drop:
        that is a bug of the caller.
        """
        line = replace(line, elapsed=round(self._elapsed(), 6))
        with self._timing.part("disk"):
            seen = self._store.append(*filter(None, (self._session, line)))
        self._session, self.begun = None, True
        with self._timing.part("statistics"):
            for one in seen:
                self._record.take(one)
