"""The record, of stored lines and new ones in any order; and the journal, which writes what it was given."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated_system import SimulatedSystem, constant

from taskgrain.measure.experiments.experiment import CellSettings, Experiment
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.record import CellState, Journal, Record
from taskgrain.measure.timing import Timing
from taskgrain.measure.uneven import AtHost
from taskgrain.results.lines import CrashLine, CurvePoint, Line, MetgLine, RunLine, SessionLine
from taskgrain.results.parse import from_json
from taskgrain.results.store import Store
from taskgrain.study.workload import REFERENCE, Cell, Workload
from taskgrain.words.endings import Ending
from taskgrain.words.interrupts import interruptible
from taskgrain.words.warnings import notice

CELL = Cell("fast", Workload("stencil_1d", 4))
Table = dict[str, Any]


def search(_: Cell) -> Experiment:
    return MetgSearch(CellSettings(resamples=50))


def empty_record() -> Record:
    return Record([CELL], search, 2, {})


def reference(**fields: Any) -> Table:
    rates = [128e9, 128e9]
    return {"kind": "reference", "kernel": "compute_bound", "rates": rates, "work_unit": "flop"} | fields


def runs(count: int, alone: float = 1.0) -> list[Table]:
    """The first runs of the cell as lines. After the bracket, others left the cell alone for such a share."""
    experiment, system, found = search(CELL), SimulatedSystem(constant(1e-7)), []
    while len(found) < count:
        request = experiment.next_round()[0]
        samples = system.run(request)
        experiment.tell(request, samples, system.rates, alone if request.phase != "bracket" else 1.0)
        line = dict(zip(("phase", "round", "iterations", "steps"), request.key, strict=True))
        one = samples[0]
        line |= {"work": one.work, "tasks": one.tasks, "cores": one.cores}
        seconds = [sample.seconds for sample in samples]
        found.append({"kind": "run", "cell": CELL.name, "seconds": seconds} | line)
    return found


def taken(*lines: Table) -> CellState:
    whole = empty_record()
    for line in lines:
        whole.take(from_json(line))
    return whole.cells[CELL.name]


def test_each_cell_has_an_experiment_of_its_own() -> None:
    other = Cell("slow", CELL.workload)
    both = Record([CELL, other], search, 2, {"slow": "own"}).cells
    assert both[CELL.name].experiment is not both[other.name].experiment
    assert both[CELL.name].kernel[0] == REFERENCE and both[other.name].kernel[0] == "own"


def test_a_lost_line_loses_that_run_alone() -> None:
    lines = runs(30)
    whole = taken(reference(), *lines)
    assert (whole.runs, whole.ignored) == (30, 0)
    gap = taken(reference(), *lines[:10], *lines[11:])
    assert gap.runs < 30 and gap.ignored > 0
    mended = taken(reference(), *lines[:10], *lines[11:], lines[10])
    assert (mended.runs, mended.ignored) == (30, 0)
    assert mended.experiment.next_round() == whole.experiment.next_round()


def test_a_run_before_any_reference_waits() -> None:
    (line,) = runs(1)
    assert (taken(line).runs, taken(line).ignored) == (0, 1)


def test_the_time_of_a_cell_is_that_of_its_runs() -> None:
    first, second = runs(2)
    state = taken(
        reference(elapsed=1.0), first | {"elapsed": 3.0}, second | {"kind": "rejected", "elapsed": 4.5}
    )
    assert (state.spent, state.runs, state.stored.rejected) == (3.5, 1, 1)


@pytest.mark.parametrize(
    ("fields", "disturbed"),
    [({}, 0), ({"busy": 0.5}, 1), ({"busy": 0.02}, 0), ({"disturbed": True}, 0)],
)
def test_a_stored_run_was_disturbed_if_others_took_of_its_cores(fields: Table, disturbed: int) -> None:
    (line,) = runs(1)
    state = taken(reference(), line | fields)
    assert (state.runs, state.disturbed) == (1, disturbed)


def test_of_a_disturbed_run_the_fastest_repeat_counts() -> None:
    hit = {"busy": 0.5}
    lines = [line | (hit if line["phase"] != "bracket" else {}) for line in runs(30, alone=0.0)]
    samples = taken(reference(), *lines).experiment.samples()
    assert len(samples) == sum(line["phase"] in ("measure", "start") for line in lines)


def test_warnings_of_answers_are_kept_once() -> None:
    first, second, third = runs(3)
    one, other = (notice("other_cores", cores=cores, asked=2) for cores in (3, 4))
    told = [
        first | {"warnings": [one.fields()]},
        second | {"warnings": [one.fields(), other.fields()]},
        third,
    ]
    assert taken(reference(), *told, third).warnings == [one, other]


@pytest.mark.parametrize(
    "fields", [{"rates": [1.0]}, {"rates": []}, {"rates": [1.0, -1.0]}, {"work_unit": None}, {"kernel": None}]
)
def test_a_reference_that_makes_no_sense_is_refused(fields: Table) -> None:
    with pytest.raises(ValueError, match="not the rates"):
        empty_record().take(from_json(reference(**fields)))


def test_the_time_of_another_build_does_not_count() -> None:
    whole = empty_record()
    whole.take(from_json(reference(elapsed=1.0)))
    whole.skip(from_json({"kind": "run", "cell": f"x@12345678/{CELL.workload.name}", "elapsed": 5.0}))
    assert (whole.elapsed, whole.unknown) == (1.0, 0)
    whole.take(from_json(reference(elapsed=5.5)))
    assert whole.elapsed == 1.5
    whole.take(from_json({"kind": "session", "elapsed": 1.5}))
    whole.take(from_json(reference(elapsed=1.75)))
    assert whole.elapsed == 1.75
    whole.take(from_json({"kind": "session"}))
    whole.take(from_json(reference(elapsed=2.0)))
    assert whole.elapsed == 2.0


def test_a_failed_cell_begins_again() -> None:
    failure = {"kind": "failure", "cell": CELL.name, "error": "crash", "message": "gone"}
    state = taken(reference(), failure)
    assert state.done and state.failure is not None
    state.try_again()
    assert not state.done and not state.begun


def test_what_hosts_did_is_kept_by_the_names_of_their_session() -> None:
    first, second = runs(2)
    shares = {"busy_hosts": [0.0, 0.25]}
    rates = reference(rates=[2e9, 1e9])
    session = {"kind": "session", "hosts": [{"host": "a"}, {"host": "b"}]}
    other = session | {"hosts": [{"host": "a"}, {"host": "c"}]}
    state = taken(session, rates, first | shares, other, rates, second | shares)
    assert state.at_hosts == [
        {"a": AtHost(2e9, 0.0), "b": AtHost(1e9, 0.25)},
        {"a": AtHost(2e9, 0.0), "c": AtHost(1e9, 0.25)},
    ]


JOURNAL_CELL = Cell("mpi", Workload("fft", 4))
CRASH = CrashLine(cell=JOURNAL_CELL.name, message="ended", log="last words")
METG = MetgLine(cell=JOURNAL_CELL.name, ending=Ending.BUDGET, threshold=0.5, rounds=1)


@pytest.fixture
def record() -> Record:
    return Record([JOURNAL_CELL], lambda _: MetgSearch(CellSettings()), 2, {})


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
        crash.items()
        >= {"kind": "crash", "cell": JOURNAL_CELL.name, "message": "ended", "log": "last words"}.items()
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
        (RunLine(cell=JOURNAL_CELL.name, seconds=(0.0,)), "run.seconds"),
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
    assert record.cells[JOURNAL_CELL.name].stored.problems
