"""Writes what is measured: each line to the store, and into the record as a later call will read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taskgrain.measure.record import Record
from taskgrain.results.lines import from_json
from taskgrain.results.store import Store


class Journal:
    """Appends lines. `elapsed` says how many seconds the study has measured by now."""

    def __init__(self, store: Store, record: Record, elapsed: Callable[[], float]) -> None:
        self._store, self._record, self._elapsed = store, record, elapsed

    def append(self, kind: str, **fields: Any) -> None:
        """Writes one line. Raises `OutputError` if it cannot be written."""
        line = from_json({"kind": kind, **fields, "elapsed": round(self._elapsed(), 6)})
        self._record.take(self._store.append(line))
