"""METG in a terminal: what stands in a cell, which is the best, and how tables fit."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from stored_cells import stored

from taskgrain.cli import metg_table
from taskgrain.cli.printer import Printer
from taskgrain.results.cell import Cell
from taskgrain.words.endings import Ending
from taskgrain.words.warnings import notice


def shown(rows: list[Cell], width: int = 100, threshold: float = 0.5, styled: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, force_terminal=styled, color_system="standard" if styled else None
    )
    metg_table.show(Printer(console), rows, {"a": "System A", "b": "System B"}, threshold)
    return file.getvalue()


@pytest.mark.parametrize(
    ("metg", "ending", "text"),
    [
        (1e-6, "precise", "1.00 µs (0.98 – 1.02)"),
        (1e-6, "budget", "1.00 µs (0.98 – 1.02)"),
        (None, "budget", "–"),
        (None, "never_reached", "never"),
        (None, "several_crossings", "several"),
        (None, "failed", "failed"),
    ],
)
def test_a_cell_is_a_number_or_the_reason_for_none(metg: float | None, ending: str, text: str) -> None:
    assert metg_table.value(stored(metg=metg, ending=Ending(ending))) == text


def test_a_cell_may_be_only_bounded() -> None:
    assert metg_table.value(stored(metg=None, ending=Ending.ALWAYS_REACHED, high=2.5e-7)) == "≤ 0.25 µs"


def test_one_workload_has_room_for_the_overhead_and_the_ratio() -> None:
    ratios = {"a": (1.3, 1.21, 1.42)}
    never = stored("c", metg=None, ending=Ending.NEVER_REACHED)
    text = shown(
        [stored("a", overhead=5e-7), stored("b", "fft", 1.3e-6, ratios=ratios, overhead=5e-7), never]
    )
    assert "METG(50 %): the smallest task of 50 % efficiency" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "system METG overhead times the best ending" in lines
    assert "System A 1.00 µs (0.98 – 1.02) 0.50 µs best precise" in lines
    assert "System B 1.30 µs (1.27 – 1.33) 0.50 µs 1.30 (1.21 – 1.42) precise" in lines
    assert any(line.startswith("c never") for line in lines)


def test_the_verdict_comes_first() -> None:
    slow = {"best_rate": 2.0, "peak_rate": 1.0, "disturbed_runs": 2}
    rows = [stored("a", "fft", **slow), stored("b", "fft", 1.3e-6, ratios={"a": (1.3, 0.9, 1.9)}, **slow)]
    first, second, *_ = shown(rows, width=300).splitlines()
    assert first.startswith("The machine was busy: beside the runs the kernel alone reached 50 % of its")
    assert second == "fft: a has the smallest METG, but no difference to b is shown."


def test_several_workloads_stand_side_by_side_if_they_fit() -> None:
    rows = [stored("a", "fft"), stored("a", "dom", 2e-6), stored("b", "dom", 3e-6)]
    wide = [line.split() for line in shown(rows).splitlines()]
    assert ["system", "fft", "dom"] in wide
    (second,) = [line for line in wide if line[:2] == ["System", "B"]]
    assert second[2] == "–"  # it was not measured on fft
    narrow = [line.split() for line in shown(rows, width=50).splitlines()]
    assert ["system", "fft", "dom"] not in narrow
    assert ["fft"] in narrow and ["dom"] in narrow
    assert sum(line[:2] == ["System", "B"] for line in narrow) == 1


def test_the_best_of_each_workload_is_bold() -> None:
    rows = [
        stored("a", "fft", 1e-6),
        stored("b", "fft", 2e-6),
        stored("a", "dom", 4e-6),
        stored("b", "dom", 3e-6),
    ]
    for width in (100, 50):
        text = shown(rows, width, styled=True)
        bold = [part for part in text.split("\x1b[1m")[1:] if "µs" in part[:12]]
        assert sorted(part[:7].strip() for part in bold) == ["1.00 µs", "3.00 µs"]


@pytest.mark.parametrize(
    ("threshold", "text"),
    [(0.5, "METG(50 %)"), (0.125, "METG(12.5 %)"), (0.999, "METG(99.9 %)"), (0.07, "METG(7 %)")],
)
def test_the_threshold_is_not_rounded(threshold: float, text: str) -> None:
    assert f"\n{text}: " in shown([stored("a", "fft")], threshold=threshold)


def test_each_kind_of_warning_is_shown_once() -> None:
    few = [notice("few_rounds", rounds=n, needed=6).fields() for n in (3, 4)]
    rows = [
        stored("a", "fft", warnings=(few[0], "an old sentence")),
        stored("b", "fft", warnings=(few[1],)),
        stored("b", "dom", warnings=(few[1],)),
    ]
    file = io.StringIO()
    metg_table.show_warnings(Printer(Console(file=file, width=60)), rows)
    first, second = file.getvalue().splitlines()
    assert first.startswith("a/fft (and, with other numbers, 2 more cells): The interval is rough")
    assert "only 3 rounds" in first
    assert second == "a/fft: an old sentence"
