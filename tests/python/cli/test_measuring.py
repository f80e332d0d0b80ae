"""The common part of `metg` and `study`: what a measurement prints, and how it ends."""

import io
import json
import shlex
from pathlib import Path

import pytest
from command_line import Command, on_terminal, process
from rich.console import Console
from stored_cells import stored

from taskgrain.cli.measuring import show_metg, show_task_times, show_warnings
from taskgrain.cli.printer import Printer
from taskgrain.results.cell import Cell
from taskgrain.results.lines import CurvePoint
from taskgrain.words.endings import Ending
from taskgrain.words.warnings import notice


def test_warnings_are_codes_and_words_for_programs(taskgrain: Command, systems: Path) -> None:
    words = ("metg", "--systems", systems, "--width", "4", "--max-rounds", "1", "-q", "--experiment", "sweep")
    value = json.loads(taskgrain(*words, "--json").out)
    assert (value["schema"], value["output"], value["failures"]) == (1, None, [])
    (cell,) = value["cells"]
    said = {one["code"]: one for one in cell["warnings"]}
    sentence = (
        "The interval is missing, because there was only one round. Allow at least 6 rounds, or a larger "
        "budget."
    )
    assert said["one_round"] == {"code": "one_round", "needed": 6, "text": sentence}
    assert f"fast/stencil_1d/width=4: {sentence}" in taskgrain(*words).out


def test_how_busy_the_machine_was_is_said_before_efficiencies_too() -> None:
    cell = stored("mpi", "fft", metg=None, ending=Ending.AT, disturbed_runs=30)
    text = on_terminal(lambda terminal: show_task_times(terminal, [cell], [20e-6]), 120)
    assert text.startswith("The machine was busy: other programs disturbed 30 % of the runs.")


def test_a_failed_cell_gives_code_1_beside_the_others(
    taskgrain: Command, systems: Path, tmp_path: Path
) -> None:
    words = ("metg", "--systems", systems, "--system", "fast,faulty", "--pattern", "tree", "-q")
    words = (*words, "--max-rounds", "2", "-o", tmp_path / "out")
    shown = taskgrain(*words)
    assert shown.code == 1
    assert "faulty/tree/width=" in shown.out and ": validation: pattern: tree is not allowed" in shown.out
    found = taskgrain(*words, "--json")
    assert found.code == 1
    value = json.loads(found.out)
    fast, faulty = value["cells"]
    assert fast["metg"] is not None
    assert faulty["ending"] == "failed"
    assert value["failures"][0]["error"] == "validation"


def test_retry_measures_again_what_failed(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    words = ("metg", "--systems", systems, "--system", "faulty", "--pattern", "tree", "-q")
    words = (*words, "--max-rounds", "2", "-o", tmp_path / "out")

    def failures(*more: str) -> int:
        assert taskgrain(*words, *more).code == 1
        return (tmp_path / "out" / "runs.jsonl").read_text().count('"kind": "failure"')

    assert [failures(), failures(), failures("--retry")] == [1, 1, 2]
    file = systems / "faulty" / "system.toml"
    file.write_text(file.read_text().replace("tree=", "fft="))
    again = json.loads(taskgrain(*words, "--json").printed())
    assert again["cells"][0]["metg"] is not None, "another build is measured without being asked"


def test_the_command_for_the_report_can_be_copied(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my results"
    words = ("metg", "--systems", systems, "--width", "4", "--max-rounds", "1", "-q", "-o", folder)
    command = taskgrain(*words).out.split("`")[1]
    assert shlex.split(command) == ["taskgrain", "report", str(folder)]


def test_a_terminal_of_ascii_gets_ascii(systems: Path) -> None:
    words = ("metg", "--systems", systems, "--width", "4", "--max-rounds", "2", "-q")
    shown = process(*words, PYTHONIOENCODING="ascii").printed()
    assert shown.isascii()
    assert " us" in shown


def test_progress_is_told_unless_quiet(taskgrain: Command, systems: Path) -> None:
    words = ("metg", "--systems", systems, "--width", "4", "--max-rounds", "1")
    assert "0 of 1 cells" in taskgrain(*words).err
    assert taskgrain(*words, "--quiet").err == ""


def shown(rows: list[Cell], width: int = 100, threshold: float = 0.5, styled: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, force_terminal=styled, color_system="standard" if styled else None
    )
    show_metg(Printer(console), rows, threshold)
    return file.getvalue()


def test_one_workload_has_room_for_the_overhead_and_the_ratio() -> None:
    ratios = {"a": (1.3, 1.21, 1.42)}
    never = stored("c", metg=None, ending=Ending.NEVER_REACHED)
    text = shown(
        [stored("a", overhead=5e-7), stored("b", "fft", 1.3e-6, ratios=ratios, overhead=5e-7), never]
    )
    assert "METG(50 %): the smallest task of 50 % efficiency" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "system METG times the best overhead ending" in lines
    assert "a 1.00 µs (0.98 – 1.02) best 500 ns precise" in lines
    assert "b 1.30 µs (1.27 – 1.33) 1.30 (1.21 – 1.42) 500 ns precise" in lines
    assert "c never – – never reached" in lines


def test_the_verdict_comes_first() -> None:
    slow = {"best_rate": 2.0, "peak_rate": 1.0, "disturbed_runs": 2}
    rows = [stored("a", "fft", **slow), stored("b", "fft", 1.3e-6, ratios={"a": (1.3, 0.9, 1.9)}, **slow)]
    first, second, *_ = shown(rows, width=300).splitlines()
    assert first.startswith("The machine was busy: beside the runs the kernel alone reached 50 % of its")
    assert second == "fft: a has the smallest METG, but no difference to b is shown."


def test_the_error_of_a_simulation_is_called_no_confidence_interval() -> None:
    for simulated in (False, True):
        said = shown([stored("a", simulated=simulated)]), at_times([stored("a", simulated=simulated)], 2e-5)
        assert ["with 95 % intervals" in one for one in said] == [not simulated] * 2


def test_each_workload_has_its_table_and_bounds_stand_last() -> None:
    limit = stored("limit", "dom", 1e-7, bound=True)
    rows = [limit, stored("a", "fft"), stored("a", "dom", 2e-6), stored("b", "dom", 3e-6)]
    for width in (300, 60):
        lines = [line.split() for line in shown(rows, width).splitlines() if line.strip()]
        names = [line[0] for line in lines if line[0] in ("fft", "dom", "a", "b", "limit")]
        assert names == ["dom", "a", "b", "limit", "fft", "a"]
    assert "limit (bound)" in shown(rows)


def test_the_best_of_each_workload_is_bold() -> None:
    rows = [
        stored("a", "fft", 1e-6),
        stored("b", "fft", 2e-6),
        stored("a", "dom", 4e-6),
        stored("b", "dom", 3e-6),
    ]
    for width in (100, 50):
        text = shown(rows, width, styled=True)
        parts = [part.lstrip() for part in text.split("\x1b[1m")[1:]]
        bold = [part for part in parts if "µs" in part[:12]]
        assert sorted(part.split()[0] + " µs" for part in bold) == ["1.00 µs", "3.00 µs"]


@pytest.mark.parametrize(
    ("threshold", "text"),
    [(0.5, "METG(50 %)"), (0.125, "METG(12.5 %)"), (0.999, "METG(99.9 %)"), (0.07, "METG(7 %)")],
)
def test_the_threshold_is_not_rounded(threshold: float, text: str) -> None:
    assert f"\n{text}: " in shown([stored("a", "fft")], threshold=threshold)


def test_each_kind_of_warning_is_shown_once() -> None:
    few = [notice("few_rounds", rounds=n, needed=6).fields() for n in (3, 4)]
    rows = [
        stored("a", "fft", warnings=(few[0], {"code": "odd"})),
        stored("b", "fft", warnings=(few[1],)),
        stored("b", "dom", warnings=(few[1],)),
    ]
    file = io.StringIO()
    show_warnings(Printer(Console(file=file, width=200)), rows)
    *lines, second = file.getvalue().splitlines()
    first = " ".join(lines)
    assert first.startswith("a/fft (and, with other numbers, 2 more cells): The interval is rough")
    assert "only 3 rounds" in first
    assert second == "a/fft: odd"


def test_a_warning_that_decides_is_shown_before_harmless_ones() -> None:
    said = [
        notice("steps_fixed", steps=9),
        notice("few_rounds", rounds=3, needed=6),
        notice("one_round", needed=6),
    ]
    file = io.StringIO()
    cell = stored("a", "fft", warnings=tuple(one.fields() for one in said))
    show_warnings(Printer(Console(file=file, width=1000)), [cell])
    assert file.getvalue().splitlines() == [f"a/fft: {one.text}" for one in reversed(said)]


def row(system: str, *points: tuple[float, float | None], ending: str = "at", iterations: int = 100) -> Cell:
    """`points` are asked times and efficiencies; None is one without an interval."""
    curve = tuple(
        CurvePoint(
            asked=asked,
            iterations=iterations,
            granularity=asked / (efficiency or 0.5),
            efficiency=efficiency or 0.5,
            efficiency_low=efficiency and efficiency - 0.05,
            efficiency_high=efficiency and efficiency + 0.05,
        )
        for asked, efficiency in points
    )
    return stored(system, "tree/width=4", None, ending=Ending(ending), curve=curve)


def at_times(rows: list[Cell], *asked: float) -> str:
    return on_terminal(lambda terminal: show_task_times(terminal, rows, asked), 120)


def test_one_time_has_its_iterations_and_how_long_a_task_takes() -> None:
    text = at_times([row("mpi", (20e-6, 0.8))], 20e-6)
    assert "tree/width=4" in text and "20.0 µs (100 iterations)" in text
    (line,) = [one for one in text.splitlines() if one.split()[:1] == ["mpi"]]
    assert line.split("  ")[-1].strip() == "25.0 µs" and "80 % (75 – 85)" in line


def test_what_has_no_interval_is_about_a_number() -> None:
    rows = [
        row("mpi", (20e-6, None)),
        row("dask", (50e-6, 0.9), iterations=250),
        row("ray", ending="failed"),
    ]
    text = at_times(rows, 20e-6, 50e-6)
    cells = {one.split()[0]: one for one in text.splitlines() if one.strip()}
    assert "about 50 %" in cells["mpi"] and "not measured" in cells["mpi"]
    assert "not measured" in cells["dask"] and "90 % (85 – 95)" in cells["dask"]
    assert cells["ray"].count("failed") == 2


def test_systems_with_different_iterations_have_none_in_the_heading() -> None:
    rows = [row("mpi", (20e-6, 0.8)), row("gpu", (20e-6, 0.8), iterations=7)]
    assert "iterations" not in at_times(rows, 20e-6).splitlines()[3]
