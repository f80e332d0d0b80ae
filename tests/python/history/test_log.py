"""A log: what a history keeps of a results folder, its line, and the line that earlier versions wrote."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import compared_folders
import history_store as made
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.answers.compare.cells import Question
from taskgrain.history.log import Log, from_json, measured
from taskgrain.history.series import Entry, series
from taskgrain.history.trends import QUANTITIES, analyse
from taskgrain.results.lines import CellLine, MetgLine, RunLine, UnknownLine
from taskgrain.words.endings import Ending
from taskgrain.words.errors import UsageError
from taskgrain.words.interval import Interval


def read(table: Mapping[str, Any]) -> Log:
    odd: Counter[str] = Counter()
    found = from_json(json.loads(json.dumps(table, allow_nan=False)), odd)
    assert isinstance(found, Log) and not +odd
    return found


def three_cells(path: Path) -> Path:
    """One has a METG, one a bound, and one has failed."""
    beyond = made.metg("mpi", None, 5.0, "fft", ending="never_reached", low=3e-3, curve=[])
    ends = [made.metg("mpi", 1e-6, 5.0), beyond, made.failure("limit", 5.0)]
    return made.folder(path, *ends, taskgrain="0.1.0", commit="abc")


def test_the_numbers_of_a_cell(tmp_path: Path) -> None:
    folder = made.folder(tmp_path / "r", made.metg("mpi", 1e-6, made.BEGIN), name="11112222")
    found, warnings = measured(folder, "c1")
    assert (found.label, found.time, found.names, warnings) == ("c1", made.BEGIN, {"11112222"}, [])
    (measurement,) = found.measurements
    assert (measurement.system, measurement.workload) == ("mpi", "stencil_1d/width=4")
    assert (measurement.build, measurement.version, measurement.cores) == ("aaaa1111", "2.1", 2)
    assert measurement.session.machine == "abcd1234"
    entry = Entry(found, measurement)
    assert entry.number("metg") == Interval(1e-6, 1e-6 / 1.02, 1.02e-6)
    assert measurement.cell.number("floor").value == pytest.approx(1e-6 / 3)
    rate = entry.rates[100]
    expected = pytest.approx((2e6, 2e6 / 1.02, 2e6 * 1.02))
    assert (rate.value, rate.low, rate.high) == expected, "tasks a second, of both cores"


def test_a_line_is_read_as_it_was_written_and_folds_to_the_same(tmp_path: Path) -> None:
    found, _ = measured(three_cells(tmp_path / "r"), "c1", 7.0)
    line = found.to_json()
    assert (line["schema"], line["kind"], line["label"], line["time"]) == (1, "log", "c1", 7.0)
    again = read(line)
    assert again == found and again.measurements == found.measurements
    precise, beyond, failed = again.measurements
    assert (precise.cell.ending, precise.cell.metg.value) == (Ending.PRECISE, 1e-6)
    assert beyond.cell.metg == Interval(None, 3e-3, None)
    assert (failed.cell.error, Entry(again, failed).failed) == ("validation", True)
    assert Entry(again, failed).number("metg") is None


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    return json.dumps(measured(three_cells(tmp_path_factory.mktemp("m") / "r"))[0].to_json())


@pytest.mark.parametrize(
    "change", [{"kind": "run"}, {"label": 3}, {"time": "now"}, {"time": None}, {"time": 1e18}]
)
def test_other_lines_are_no_logs(written: str, change: dict[str, object]) -> None:
    assert isinstance(from_json(json.loads(written) | change, Counter()), UnknownLine)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(1e-320),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


@given(st.data())
def test_no_value_breaks_a_history(written: str, data: st.DataObject) -> None:
    """Any of a line, a cell or a number may be anything else: what makes no sense is left out."""
    table = place = json.loads(written)
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(JSON)
    found = from_json(table, Counter())
    if isinstance(found, Log):
        json.dumps(found.to_json(), allow_nan=False)
        for quantity in QUANTITIES:
            assert analyse(series([found]), Question(quantity)).trends is not None


def test_only_what_a_history_needs_is_kept(tmp_path: Path) -> None:
    curve = [
        {"iterations": size, "granularity": 1e-6, "efficiency": efficiency}
        for size, efficiency in ((10, 0.1), (50, 0.4), (100, 0.6), (900, 0.9), (950, None))
    ]
    unfinished = compared_folders.cell("mpi", "fft", 5.0)
    unsupported = made.failure("limit", 5.0) | {"error": "unsupported"}
    runs = compared_folders.runs("tbb", "stencil_1d", 1e-6)[:3]
    tbb = [compared_folders.cell("tbb", "stencil_1d", 5.0, cores=None, command="run me"), *runs]
    ends = (made.metg("mpi", 1e-6, 5.0, curve=curve), unfinished, unsupported)
    folder = made.folder(tmp_path / "r", *ends)
    with (folder / "runs.jsonl").open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in [*tbb, made.metg("tbb", 2e-6, 5.0)])
    found, warnings = measured(folder)
    assert {one.system for one in found.measurements} == {"mpi", "tbb"}
    assert warnings == [
        "1 cell that the system does not support, left out", "1 cell without a result yet, left out",
    ]  # fmt: skip
    assert not any(isinstance(line, RunLine) for line in found.lines)
    mpi = next(line for line in found.lines if isinstance(line, MetgLine))
    assert [one.iterations for one in mpi.curve] == [50, 100], "of tasks near the threshold"
    last = [line for line in found.lines if isinstance(line, CellLine)][-1]
    assert (last.cell, last.command, last.cores) == ("tbb/stencil_1d/width=4", None, 2), "as its runs said"
    with pytest.raises(UsageError, match="no cell has a result yet"):
        measured(made.folder(tmp_path / "s", unfinished))


@pytest.mark.parametrize("change", [{"reference": None}, {"machine": None}])
def test_results_of_an_unknown_machine_or_reference_are_refused(
    tmp_path: Path, change: dict[str, object]
) -> None:
    folder = made.folder(tmp_path / "r", made.metg("mpi", 1e-6, 5.0), **change)
    with pytest.raises(UsageError, match="does not say on which machine, or with which reference"):
        measured(folder)
