"""Results folders and stores of a history for tests: nothing is measured."""

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compared_folders import DAY, cell, session, write

from taskgrain.answers.compare.cells import Question
from taskgrain.history import store
from taskgrain.history.log import Log, measured
from taskgrain.history.series import series
from taskgrain.history.trends import History, analyse

BEGIN = 1_780_000_000.0
"""Unix time of the first session: 2026-05-28."""
Line = dict[str, Any]


def metg(system: str, value: float | None, time: float, pattern: str = "stencil_1d", **changes: Any) -> Line:
    """The `metg` line of a cell; METG is known to 2 %."""
    low, high = (None, None) if value is None else (value / 1.02, value * 1.02)
    curve = []
    if value is not None:
        ends: Line = {"granularity": value, "granularity_low": low, "granularity_high": high}
        curve = [{"iterations": 100, "efficiency": 0.5, "repeats": 9} | ends]
    line: Line = {
        "schema": 1, "kind": "metg", "time": time, "cell": f"{system}/{pattern}/width=4", "ending": "precise",
        "threshold": 0.5, "metg": value, "low": low, "high": high, "overhead": value and value / 2,
        "overhead_low": low and low / 2, "overhead_high": high and high / 2, "floor": value and value / 3,
        "floor_low": low and low / 3, "floor_high": high and high / 3, "rounds": 20, "curve": curve,
    } | changes  # fmt: skip
    if rate := line.get("peak_rate"):
        names = {"work": "metg", "work_low": "low", "work_high": "high"}
        line = {name: line[one] and line[one] * 0.5 * rate for name, one in names.items()} | line
    return line


def failure(system: str, time: float) -> Line:
    return {
        "schema": 1, "kind": "failure", "time": time, "cell": f"{system}/stencil_1d/width=4",
        "error": "validation", "message": "wrong input",
    }  # fmt: skip


def folder(path: Path, *ends: Line, name: str = "", build: str = "aaaa1111", **changes: Any) -> Path:
    """A results folder of one session whose cells ended like this."""
    time = ends[0]["time"]
    systems = {one["cell"].partition("/")[0]: build for one in ends}
    lines = [session(name or path.name, time, systems, **changes)]
    for end in ends:
        system, pattern, _ = end["cell"].split("/")
        lines += [cell(system, pattern, time, driver={"system": system, "version": "2.1"}), end]
    return write(path, lines)


def scattered(*levels: tuple[int, float], scatter: float = 0.03) -> list[float]:
    """METGs around 1 µs, of levels given by their number of sessions and what they are times 1 µs."""
    dice = random.Random(2)
    return [1e-6 * t * math.exp(dice.gauss(0.0, scatter)) for count, t in levels for _ in range(count)]


def grown(
    path: Path,
    values: Sequence[float | None],
    system: str = "mpi",
    clocks: Sequence[float] = (),
    on: Sequence[str] = (),
    **changes: Any,
) -> Path:
    """A store with a session a day, labelled c0, c1 …; None is a failure. With `clocks`, which are shares of
    the usual one, the values are those at the usual one. With `on` each was measured on a host of its own."""
    logs: list[Log] = []
    known = store.read(path).logs if path.exists() else ()
    for number, value in enumerate(values):
        time = BEGIN + number * DAY
        end = failure(system, time) if value is None else metg(system, value, time)
        if clocks and value:
            end = metg(system, value / clocks[number], time, peak_rate=1e9 * clocks[number])
        where = path.parent / "folders" / f"{path.stem}-{len(known)}-{number}"
        host = {"host": on[number]} if on else {}
        logs.append(measured(folder(where, end, **host, **changes), f"c{number}")[0])
    store.add(path, logs)
    return path


def history(path: Path, known: float | None = None, **question: Any) -> History:
    """The answer of the store to a question."""
    return analyse(series(store.read(path).logs), Question(**question), known)
