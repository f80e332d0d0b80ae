"""Writes what is measured: each line to the store, and into the record as a later call will read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from taskgrain.measure.record import Record
from taskgrain.results.parse import Odd, from_json
from taskgrain.results.store import Store


class Journal:
    """Appends lines, the first after that of the session. `elapsed` says how many seconds the study has
    measured by now."""

    def __init__(self, store: Store, record: Record, elapsed: Callable[[], float]) -> None:
        self._store, self._record, self._elapsed = store, record, elapsed
        self._session = store.session and replace(store.session, elapsed=round(record.elapsed, 6))

    def append(self, kind: str, **fields: Any) -> None:
        """Writes one line. Raises `OutputError` if it cannot be written.

        Raises `ValueError` for a field that lines of the kind do not have, or a value that makes no sense:
        that is a bug of the caller, and a reader would drop it without a word.
        """
        odd = Odd()
        line = from_json({"kind": kind, **fields, "elapsed": round(self._elapsed(), 6)}, odd)
        written = line.to_json()
        lost = [name for name, value in fields.items() if name not in written and value not in (None, [], ())]
        if +odd or lost:
            raise ValueError(f"a {kind} line cannot hold {', '.join([*+odd, *lost])}")
        if self._session:
            self._record.take(self._store.append(self._session))
            self._session = None
        self._record.take(self._store.append(line))
