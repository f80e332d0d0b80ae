"""The figures: what is drawn of which system, and what is written."""

from pathlib import Path
from typing import Any

import pytest
import report_cells

from taskgrain.drive.system import System
from taskgrain.productivity.count import Count
from taskgrain.productivity.figure import figure, save
from taskgrain.productivity.frontier import Measured
from taskgrain.report import figures, look
from taskgrain.report.look import PAPER
from taskgrain.words.errors import UsageError


def row(name: str, metg: float, lines: int, constructs: int, **fields: Any) -> Measured:
    names = {f"c{k}": 1 for k in range(constructs)}
    counted = Count(System(name, Path(), name), {"a.cpp": lines}, names, constructs)
    return Measured(counted, report_cells.measured(name, metg, **fields))


ROWS = [
    row("fast", 1e-6, 100, 9), row("short", 5e-6, 10, 5), row("beaten", 9e-6, 200, 7),
    row("maybe", 2e-6, 150, 0, low=None), Measured(row("x", 1.0, 9, 9).count, report_cells.cell("none")),
]  # fmt: skip


def drawn(panel: int, layer: int) -> list[dict[str, Any]]:
    """What a layer of a panel shows: the frontier, the intervals, the systems."""
    spec = look.finish(figures.drawn(figure(ROWS), 200), PAPER)
    source = spec["vconcat"][0]["concat"][panel]["layer"][layer]["data"]["name"]
    values: list[dict[str, Any]] = spec["datasets"][source]
    return values


def test_each_panel_has_the_systems_with_its_number_and_the_frontier_filled() -> None:
    lines = {one["system"]: one["filled"] for one in drawn(0, 2)}
    assert lines == {"fast": 1.0, "short": 1.0, "beaten": 0.0, "maybe": 0.35}
    assert [one["system"] for one in drawn(1, 2)] == ["fast", "short", "beaten"]
    assert [one["effort"] for one in drawn(1, 2)] == [9, 5, 7]


def test_a_missing_bound_goes_to_the_end_of_the_axis_and_is_pale() -> None:
    least = {one["system"]: one for one in drawn(0, 1)}
    assert 0 < least["maybe"]["low"] < least["fast"]["low"]
    assert least["maybe"]["sure"] < least["fast"]["sure"]


def test_the_line_of_the_frontier_descends_and_goes_on() -> None:
    steps = drawn(0, 0)
    assert [one["effort"] for one in steps] == [100, 10, 10]
    assert [one["metg"] for one in steps][:2] == [1e-6, 5e-6]
    assert steps[-1]["metg"] > 9e-6


@pytest.mark.submission
def test_each_workload_with_a_number_has_its_files(tmp_path: Path) -> None:
    workloads = {"fft/width=4": ROWS, "dom": [ROWS[-1]]}
    written = save(workloads, tmp_path / "made" / "here", ("svg", "png", "pdf"))
    assert [one.name for one in written] == [
        f"productivity-fft-width=4.{one}" for one in ("svg", "png", "pdf")
    ]
    assert [one.read_bytes()[:4] for one in written] == [b"<svg", b"\x89PNG", b"%PDF"]
    svg = written[0].read_text()
    for text in ("lines of code", "constructs", "METG", "fast", "short", "beaten", "maybe"):
        assert f">{text}<" in svg
    assert save(workloads, tmp_path, ("svg",))[0].read_text() == svg


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file: cannot be written"):
        save({"fft": ROWS}, tmp_path / "file", ("svg",))


def test_a_simulated_metg_is_marked_on_its_axis_and_in_its_file(tmp_path: Path) -> None:
    (file,) = save({"fft": [row("long", 1e-6, 9, 9, simulated=True)]}, tmp_path, ["svg"])
    assert file.name.startswith("simulated") and "simulated METG" in file.read_text("utf-8")
