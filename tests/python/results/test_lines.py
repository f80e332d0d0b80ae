"""The lines of runs.jsonl: what is written is what is read, and the page of reference names every field."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import results_folder as made
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.results import lines, values
from taskgrain.results.field import fields
from taskgrain.results.lines import (
    Build,
    CellLine,
    CurvePoint,
    Host,
    Line,
    ReferenceLine,
    RejectedLine,
    RunLine,
)
from taskgrain.results.parse import Odd, from_json
from taskgrain.words.endings import Ending

ROOT = Path(__file__).parents[3]
CELL = made.cell_name("mpi", "fft")
FINITE = st.floats(-1e39, 1e39)
INTEGERS = st.integers(0, values.LARGEST - 1)
PLAIN: dict[Callable[[Any], Any], st.SearchStrategy[Any]] = {
    values.text: st.text(max_size=5),
    values.ending: st.sampled_from(Ending),
    values.flag: st.booleans(),
    values.integer: INTEGERS,
    values.number: FINITE,
    values.amount: FINITE.map(abs),
    values.positive: st.floats(1e-39, 1e39),
    values.share: st.floats(1e-39, 1.0, exclude_max=True),
    values.ordinal: st.integers(1, 10**6 - 1),
}
TABLES = st.dictionaries(st.text(max_size=5), st.text(max_size=5) | FINITE, max_size=2)
OTHERS = {
    **dict.fromkeys(("driver", "env", "withheld", "libraries"), TABLES),
    "warnings": TABLES.map(lambda table: table | {"code": "busy"}),
    "binding": st.lists(INTEGERS, max_size=3).map(tuple),
    "curve": st.deferred(lambda: of(CurvePoint)),
    "systems": st.deferred(lambda: of(Build)),
    "hosts": st.deferred(lambda: of(Host)),
}


def of(owner: Any) -> st.SearchStrategy[Any]:
    """Any line of a kind, or point of a curve, with some of its fields."""
    chosen: dict[str, st.SearchStrategy[Any]] = {}
    for name, field in fields(owner).items():
        one = PLAIN[field.read] if field.read in PLAIN else OTHERS[name]
        if field.listed:
            chosen[name] = st.lists(one | st.none() if field.gaps else one, max_size=3).map(tuple)
        else:
            chosen[name] = one if name == "cell" else st.none() | one
    if owner in (CellLine, ReferenceLine):
        names = lines.WORKLOAD if owner is CellLine else lines.OF_A_REFERENCE
        workload = {name: PLAIN[lines.WORKLOAD[name]] for name in names}
        chosen["workload"] = st.fixed_dictionaries({}, optional=workload)
    return st.builds(owner, **chosen)


@pytest.mark.parametrize("kind", lines.TYPES)
@given(st.data())
def test_what_is_written_is_read(kind: str, data: st.DataObject) -> None:
    line: Line = data.draw(of(lines.TYPES[kind]))
    odd = Odd()
    table = line.to_json()
    assert table["kind"] == kind
    assert from_json(json.loads(json.dumps(table, allow_nan=False)), odd) == line
    assert not +odd


def test_a_run() -> None:
    table = made.run_line(CELL) | {"new field": 1}
    line = from_json(table)
    assert isinstance(line, RunLine)
    assert (line.cell, line.phase, line.iterations, line.steps) == (CELL, "measure", 128, 4000)
    assert list(line.seconds) == table["seconds"]
    assert (line.binding, line.disturbed) == (((0,), (1,)), None)
    assert line.to_json() == {key: value for key, value in table.items() if key != "new field"}
    rejected = from_json(table | {"kind": "rejected"})
    assert isinstance(rejected, RejectedLine) and not isinstance(rejected, RunLine)


def test_a_cell_and_its_reference() -> None:
    cell, old = from_json(made.cell_line("mpi", "fft")), from_json(made.REFERENCE)
    assert isinstance(cell, CellLine) and isinstance(old, ReferenceLine)
    assert (cell.workload["pattern"], cell.workload["width"], cell.steps) == ("fft", 16, 4000)
    assert "fraction" not in cell.workload
    assert cell.reference_key == old.reference_key == ("taskgrain-reference", "compute_bound", 0, 16, 1, 0)
    other = from_json(made.REFERENCE | {"program": "gpu-reference", "samples": 4})
    assert isinstance(other, ReferenceLine)
    assert other.reference_key == ("gpu-reference", "compute_bound", 0, 4, 1, 0)


def test_the_cores_that_a_workload_asks_for_are_not_those_that_a_system_occupies() -> None:
    line = from_json(made.cell_line("mpi", "fft") | {"cores": 1, "asked_cores": 2})
    assert isinstance(line, CellLine) and (line.cores, line.workload["cores"]) == (1, 2)
    assert (line.to_json()["cores"], line.to_json()["asked_cores"]) == (1, 2)
    alone = from_json(made.REFERENCE | {"asked_cores": 2})
    assert isinstance(alone, ReferenceLine)
    assert line.reference_key == alone.reference_key == ("taskgrain-reference", "compute_bound", 0, 16, 1, 2)


@pytest.mark.parametrize("kind", [*lines.TYPES.values(), CurvePoint, Build, Host])
def test_the_reference_names_every_field(kind: Any) -> None:
    text = (ROOT / "docs/reference/results.md").read_text("utf-8")
    for one in dataclasses.fields(kind):
        assert one.name == "workload" or f'"{one.name}"' in text or f"`{one.name}`" in text, one.name
