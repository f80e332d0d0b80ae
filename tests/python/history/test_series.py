"""Tests of the sessions that are one series, and of what each of them says."""

from dataclasses import replace
from pathlib import Path

import compared_folders
import history_store as made
import pytest

from taskgrain.estimate.quantities import Quantity
from taskgrain.history import store
from taskgrain.history.log import Log
from taskgrain.history.log import measured as measured_log
from taskgrain.history.series import Series, series
from taskgrain.words.interval import Interval


def of(path: Path) -> list[Series]:
    return series(store.read(path).logs)


def test_cells_are_series_in_the_order_of_time(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", [1e-6, 2e-6])
    made.grown(path, [3e-6], "limit")
    logs = store.read(path).logs
    late: Log = replace(logs[0], time=made.BEGIN + 9 * made.DAY)
    found = series([late, *logs[1:]])
    assert [one.name for one in found] == ["limit/stencil_1d/width=4", "mpi/stencil_1d/width=4"]
    assert [entry.log.label for entry in found[1].entries] == ["c1", "c0"]
    assert not any(one.apart for one in found)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"machine": "ffff0000"}, "other machine (other caches, cores or memory)"),
        ({"cores": [0]}, "other processors (0,1; 0)"),
        ({"reference": "beef"}, "another build of the reference"),
    ],
)
def test_what_cannot_be_compared_is_apart(tmp_path: Path, changes: dict[str, object], why: str) -> None:
    path = made.grown(tmp_path / "h.jsonl", [1e-6, 1e-6])
    made.grown(path, [2e-6], **changes)
    made.grown(path, [1e-6])
    first, second = of(path)
    assert len(first.entries) == 3 and len(second.entries) == 1, "a return goes on with the first series"
    assert (first.apart, second.apart) == ("", why)


def test_another_build_or_version_is_what_a_history_is_about(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", [1e-6])
    made.grown(path, [1e-6], build="bbbb2222")
    (one,) = of(path)
    assert [entry.measurement.build for entry in one.entries] == ["aaaa1111", "bbbb2222"]


def test_rates_are_of_the_size_that_most_sessions_share(tmp_path: Path) -> None:
    logs = []
    for number, sizes in enumerate(({100: 2.0}, {100: 1.0, 50: 4.0}, {50: 0.5, 70: 0.25})):
        curve = [
            {"iterations": size, "granularity": granularity, "efficiency": 0.5}
            for size, granularity in sizes.items()
        ]
        end = made.metg("mpi", 1e-6, made.BEGIN + number, curve=curve)
        logs.append(measured_log(made.folder(tmp_path / f"r{number}", end))[0])
    (one,) = series(logs)
    assert one.size() == 100
    assert one.numbers("rate") == [Interval(1.0), Interval(2.0), None], "tasks a second, of two cores"
    assert [number and number.value for number in one.numbers("metg")] == [1e-6] * 3


def test_numbers_are_at_the_clock_of_a_typical_session(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", [1e-6] * 3, clocks=[1.0, 0.5, 1.0])
    (one,) = of(path)
    assert (one.clock, one.clocks) == (1e9, [1e9, 0.5e9, 1e9])
    slow = one.entries[1]
    for by, value in (("metg", 1e-6), ("overhead", 0.5e-6), ("floor", 1e-6 / 3.0), ("rate", 2e6)):
        quantity: Quantity = by  # type: ignore[assignment]
        measured = slow.number(quantity, 100)
        assert measured and measured.value == pytest.approx(value * (0.5 if by == "rate" else 2.0))
        for found in one.numbers(quantity):
            assert found and found.value == pytest.approx(value)
    bound = made.metg("mpi", None, made.BEGIN, ending="never_reached", low=2e-6, peak_rate=0.5e9)
    log = measured_log(made.folder(tmp_path / "bound", bound))[0]
    (beyond,) = series([log])
    assert beyond.entries[0].at_clock(1e9, "metg") == Interval(None, pytest.approx(1e-6))
    work = made.metg("mpi", 1e-6, made.BEGIN, peak_rate=0.5e9, work=300.0, work_low=290.0, work_high=310.0)
    log = measured_log(made.folder(tmp_path / "work", work))[0]
    (known,) = series([log])
    assert known.entries[0].at_clock(1e9, "metg") == Interval(*map(pytest.approx, (6e-7, 5.8e-7, 6.2e-7)))


def test_a_session_without_a_clock_counts_as_it_is(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", [1e-6])
    made.grown(path, [1e-6], clocks=[0.5])
    (one,) = of(path)
    assert [number and number.value for number in one.numbers("metg")] == [1e-6, pytest.approx(2e-6)]


def test_each_number_of_nodes_is_a_series_of_its_own(tmp_path: Path) -> None:
    logs = []
    for day in (0, 1):
        time = made.BEGIN + day * made.DAY
        lines = [compared_folders.session(f"s{day}", time, {"mpi": "aaaa1111"}, hosts=[{"host": "a"}])]
        for nodes, of_nodes in ((1, ""), (2, "/nodes=2")):
            named = {"cell": f"mpi/stencil_1d/width=4{of_nodes}"}
            lines.append(compared_folders.cell("mpi", "stencil_1d", time, nodes=nodes, **named))
            lines.append(made.metg("mpi", nodes * 1e-6, time, **named))
        logs.append(measured_log(compared_folders.write(tmp_path / str(day), lines), f"c{day}")[0])
    found = {one.name: [entry.log.label for entry in one.entries] for one in series(logs)}
    both = ["c0", "c1"]
    assert found == {"mpi/stencil_1d/width=4": both, "mpi/stencil_1d/width=4/nodes=2": both}
