"""A session of the history and its line: what is written can be read again."""

from __future__ import annotations

import json
from pathlib import Path

import history_store as made
import pytest

from taskgrain.history.measured import measured
from taskgrain.history.session import Session, from_json
from taskgrain.words.interval import Interval


@pytest.fixture
def session(tmp_path: Path) -> Session:
    ends = [made.metg("mpi", 1e-6, 5.0), made.metg("mpi", 2e-6, 5.0, "fft"), made.failure("limit", 5.0)]
    return measured(made.folder(tmp_path / "r", *ends), "c1", 7.0)[0]


def test_a_line_is_read_as_it_was_written(session: Session) -> None:
    line = json.loads(json.dumps(session.to_json(), allow_nan=False))
    assert from_json(line) == session
    assert (line["schema"], line["kind"], line["label"], line["time"]) == (1, "session", "c1", 7.0)
    assert line["units"] == {"metg": "s", "overhead": "s", "floor": "s", "rate": "1/s"}


def test_what_cells_share_is_written_once(session: Session) -> None:
    line = session.to_json()
    assert line["conditions"]["machine"] == "abcd1234" and line["settings"]["threshold"] == 0.5
    first, second, failed = line["cells"]
    assert first["settings"] == {"pattern": "stencil_1d"} and second["settings"] == {"pattern": "fft"}
    assert "conditions" not in first
    assert first["metg"]["value"] == 1e-6 and first["rate"][0]["iterations"] == 100
    assert (failed["error"], failed.get("metg")) == ("validation", None)


def test_what_makes_no_sense_is_left_out(session: Session) -> None:
    line = session.to_json()
    line["cells"][0]["metg"] = {"value": -1, "low": "x", "high": 2e-6}
    line["cells"][1]["rate"] = [{"iterations": None, "value": 1.0}, 7]
    line["cells"][2] = {"system": "", "workload": 3}
    line["cells"] += [None, "cell"]
    line["sessions"] = ["a", 3, None]
    found = from_json(line)
    assert found is not None and len(found.cells) == 2 and found.names == ("a",)
    assert found.cells[0].numbers["metg"] == Interval(None, None, 2e-6) and found.cells[1].rates == {}


@pytest.mark.parametrize("change", [{"kind": "run"}, {"label": 3}, {"time": "now"}, {"time": None}])
def test_other_lines_are_no_sessions(session: Session, change: dict[str, object]) -> None:
    assert from_json(session.to_json() | change) is None
