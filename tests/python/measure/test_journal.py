"""The journal: what it writes is what was given, and what a reader would drop is refused."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.record import Journal, Record
from taskgrain.measure.timing import Timing
from taskgrain.results.lines import CrashLine, CurvePoint, Line, MetgLine, RunLine, SessionLine
from taskgrain.results.store import Store
from taskgrain.study.workload import Cell, Workload
from taskgrain.words.endings import Ending
from taskgrain.words.interrupts import interruptible

CELL = Cell("mpi", Workload("fft", 4))
CRASH = CrashLine(cell=CELL.name, message="ended", log="last words")
METG = MetgLine(cell=CELL.name, ending=Ending.BUDGET, threshold=0.5, rounds=1)


@pytest.fixture
def record() -> Record:
    return Record([CELL], lambda _: MetgSearch(CellSettings()), 2, {})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results", {}, {}, session=SessionLine(session="5f")) as store:
        yield store


@pytest.fixture
def journal(store: Store, record: Record) -> Journal:
    return Journal(store, record, lambda: 1.5, Timing())


def written(folder: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, (folder / "results/runs.jsonl").read_text("utf-8").splitlines()))


def test_lines_are_written_as_they_are_given_after_that_of_the_session(
    journal: Journal, tmp_path: Path
) -> None:
    assert written(tmp_path) == [] and not journal.begun
    point = CurvePoint(iterations=64, granularity=1e-6, efficiency=0.5, repeats=3)
    journal.append(CRASH)
    journal.append(replace(METG, curve=(point,)))
    session, crash, metg = written(tmp_path)
    assert (session["kind"], session["elapsed"], journal.begun) == ("session", 0.0, True)
    assert (
        crash.items() >= {"kind": "crash", "cell": CELL.name, "message": "ended", "log": "last words"}.items()
    )
    assert (crash["elapsed"], metg["elapsed"]) == (1.5, 1.5)
    assert (metg["metg"], metg["low"], metg["high"], metg["warnings"]) == (None, None, None, [])
    bounds = ("granularity_low", "granularity_high", "efficiency_low", "efficiency_high")
    (stored,) = metg["curve"]
    known = {"iterations": 64, "granularity": 1e-6, "efficiency": 0.5, "repeats": 3}
    assert stored == known | dict.fromkeys(bounds)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (replace(CRASH, message=3), "crash.message"),  # type: ignore[arg-type]
        (replace(METG, metg=-1.0), "metg.metg"),
        (replace(METG, curve=(CurvePoint(iterations=-1),)), "metg.curve.iterations"),
        (RunLine(cell=CELL.name, seconds=(0.0,)), "run.seconds"),
    ],
)
def test_what_a_reader_would_drop_is_refused(
    journal: Journal, tmp_path: Path, line: Line, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        journal.append(line)
    assert written(tmp_path) == [], "nothing is half-written"


def test_an_interrupt_leaves_no_line_that_the_record_has_not_taken(
    journal: Journal, record: Record, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = store.append

    def interrupted(*lines: Line) -> list[Line]:
        os.kill(os.getpid(), signal.SIGINT)
        return append(*lines)

    monkeypatch.setattr(store, "append", interrupted)
    with pytest.raises(KeyboardInterrupt), interruptible():
        journal.append(CRASH)
    assert [line["kind"] for line in written(tmp_path)] == ["session", "crash"]
    assert record.cells[CELL.name].stored.problems
