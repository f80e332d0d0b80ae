"""Lines made of objects of JSON: no value of JSON breaks the reading, and what makes no sense is counted."""

import pytest
import results_folder as made
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.results import lines
from taskgrain.results.field import fields
from taskgrain.results.lines import CellLine, CrashLine, CurvePoint, MetgLine, RunLine, UnknownLine
from taskgrain.results.parse import Odd, from_json

CELL = made.cell_name("mpi", "fft")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.data())
def test_any_object_is_a_line(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([*lines.TYPES, "new", None]))
    names = [*fields(lines.TYPES[kind]), *lines.WORKLOAD, "schema"] if kind in lines.TYPES else ["x"]
    table = {"kind": kind} | data.draw(st.dictionaries(st.sampled_from(names), JSON, max_size=6))
    line = from_json(table)
    if isinstance(line, UnknownLine):
        assert line.to_json() == table
    else:
        assert from_json(line.to_json()) == line


UNKNOWN: list[dict[str, object]] = [
    {"kind": "new", "cell": CELL},
    {"cell": CELL},
    {"kind": ["run"], "cell": CELL},
    {"kind": "run"},
    {"kind": "run", "cell": 3},
    {"kind": "run", "cell": CELL, "schema": "1.0"},
]


@pytest.mark.parametrize("table", UNKNOWN)
def test_other_lines_are_kept_as_they_are(table: dict[str, object]) -> None:
    assert from_json(table) == UnknownLine(content=table)


def test_values_that_make_no_sense_are_counted() -> None:
    odd = Odd()
    run = {"kind": "run", "cell": CELL, "tasks": -1, "round": True, "cores": 1.5, "steps": 2**63}
    run |= {
        "seconds": [0.1, "x", None, -1.0],
        "prepare_seconds": 7,
        "work": 10**400,
        "warnings": ["a", {"code": "b"}, {"share": 0.2}],
    }
    assert from_json(run, odd) == RunLine(
        cell=CELL, seconds=(0.1, None, None, None), warnings=({"code": "b"},)
    )
    assert odd == Odd({
        "run.tasks": 1, "run.round": 1, "run.cores": 1, "run.steps": 1, "run.seconds": 2,
        "run.prepare_seconds": 1, "run.work": 1, "run.warnings": 2,
    })  # fmt: skip
    odd.clear()
    line = from_json({"kind": "metg", "cell": CELL, "curve": [1, {"granularity": 0, "repeats": 3}]}, odd)
    assert line == MetgLine(cell=CELL, curve=(CurvePoint(repeats=3),))
    assert +odd == Odd({"metg.curve": 1, "metg.curve.granularity": 1})
    odd.clear()
    line = from_json({"kind": "cell", "cell": CELL, "width": "many", "seed": 3, "driver": 4}, odd)
    assert line == CellLine(cell=CELL, workload={"seed": 3})
    assert odd == Odd({"cell.width": 1, "cell.driver": 1})


def test_half_a_surrogate_pair_can_be_written() -> None:
    line = from_json({"kind": "crash", "cell": "a\ud800b", "message": "\U0001f600"})
    assert line == CrashLine(cell="a\ufffdb", message="\U0001f600")
