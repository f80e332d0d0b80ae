"""The journal: what it writes is what was given, and what a reader would drop is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.journal import Journal
from taskgrain.measure.record import Record
from taskgrain.results.lines import SessionLine
from taskgrain.results.store import Store
from taskgrain.study.workload import Cell, Workload

CELL = Cell("mpi", Workload("fft", 4))
METG: dict[str, Any] = {"cell": CELL.name, "ending": "budget", "threshold": 0.5, "rounds": 1}


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    record = Record([CELL], lambda _: MetgSearch(CellSettings()), 2, {})
    with Store(tmp_path / "results", {}, {}) as store:
        yield Journal(store, record, lambda: 1.5)


def written(folder: Path) -> dict[str, Any]:
    (line,) = (folder / "results/runs.jsonl").read_text("utf-8").splitlines()
    return json.loads(line)  # type: ignore[no-any-return]


def test_a_line_is_written_as_it_is_given(journal: Journal, tmp_path: Path) -> None:
    journal.append("crash", cell=CELL.name, message="ended", log="last words")
    line = written(tmp_path)
    assert {
        "kind": "crash",
        "cell": CELL.name,
        "message": "ended",
        "log": "last words",
    }.items() <= line.items()
    assert line["elapsed"] == 1.5


def test_what_is_not_known_of_a_result_is_null(journal: Journal, tmp_path: Path) -> None:
    point = {"iterations": 64, "granularity": 1e-6, "efficiency": 0.5, "repeats": 3}
    journal.append("metg", **METG, metg=None, low=None, high=None, curve=[point], warnings=[])
    line = written(tmp_path)
    assert (line["metg"], line["low"], line["high"], line["warnings"]) == (None, None, None, [])
    (stored,) = line["curve"]
    assert stored == point | dict.fromkeys(
        ("granularity_low", "granularity_high", "efficiency_low", "efficiency_high")
    )


def test_a_session_stands_before_its_first_line(tmp_path: Path) -> None:
    record = Record([CELL], lambda _: MetgSearch(CellSettings()), 2, {})
    with Store(tmp_path / "results", {}, {}, session=SessionLine(session="5f")) as store:
        journal = Journal(store, record, lambda: 1.5)
        assert (tmp_path / "results/runs.jsonl").read_bytes() == b""
        for _ in range(2):
            journal.append("crash", cell=CELL.name, message="ended")
    lines = map(json.loads, (tmp_path / "results/runs.jsonl").read_text("utf-8").splitlines())
    assert [(line["kind"], line["elapsed"]) for line in lines] == [
        ("session", 0.0),
        ("crash", 1.5),
        ("crash", 1.5),
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "named"),
    [
        ("crash", {"cell": CELL.name, "message": "ended", "logs": "misspelt"}, "logs"),
        ("crash", {"cell": CELL.name, "message": 3}, "crash.message"),
        ("metg", METG | {"metg": -1.0}, "metg.metg"),
        ("metg", METG | {"curve": ({"iterations": 1},)}, "metg.curve"),
    ],
)
def test_what_a_reader_would_drop_is_refused(
    journal: Journal, tmp_path: Path, kind: str, fields: dict[str, Any], named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        journal.append(kind, **fields)
    assert (tmp_path / "results/runs.jsonl").read_bytes() == b"", "nothing is half-written"
