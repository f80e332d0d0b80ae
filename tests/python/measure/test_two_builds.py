"""Two builds measured side by side: which programs they are, and when the measurement ends."""

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from driver_process import runnable
from killable_study import FAKE
from simulated_system import Noise, SimulatedSystem, constant, drive
from system_folder import simulated as system

from taskgrain.answers.compare.cells import Compared, Question
from taskgrain.drive.system import System
from taskgrain.measure.experiments.experiment import CellSettings
from taskgrain.measure.experiments.metg import MetgSearch
from taskgrain.measure.two_builds import (
    LOOKS,
    Pair,
    UntilDecided,
    check_programs,
    compared,
    confidence,
    measure,
    pairs,
)
from taskgrain.results.lines import CellLine, MetgLine, RunLine
from taskgrain.results.reader import read
from taskgrain.study.settings import Settings
from taskgrain.study.workload import Workload
from taskgrain.words.errors import TaskgrainError, UsageError

WORKLOAD = Workload("stencil_1d", 4)
CORES = (0, 1)


@pytest.fixture(autouse=True)
def _reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(FAKE))


def measured(
    folder: Path, places: tuple[Path, Path], question: Question | None = None, budget: float = 0.0
) -> tuple[Compared, ...]:
    asked = question or Question()
    found = pairs(places, [], {})
    measure(found, WORKLOAD, Settings(budget=budget), CORES, folder, asked, quiet=True)
    return compared(found, folder, places, asked).cells


def rounds(folder: Path) -> list[int]:
    found: dict[str, int] = {}
    for line in read(folder).lines:
        if isinstance(line, RunLine) and line.phase == "measure" and line.round is not None:
            found[line.cell] = line.round + 1
    return list(found.values())


@pytest.mark.parametrize(("times", "verdict"), [(1.3, "slower"), (0.7, "faster"), (1, "same")])
def test_it_ends_at_the_look_that_decides(tmp_path: Path, times: float, verdict: str) -> None:
    old, new = system(tmp_path / "old" / "mine", 1e-6), system(tmp_path / "new" / "mine", times * 1e-6)
    (cell,) = measured(tmp_path / "r", (old, new))
    assert (cell.verdict, cell.together, cell.system, cell.against) == (verdict, True, "mine", "mine")
    assert (cell.contender, cell.baseline) == (str(new), str(old))
    same = ("the build is the same on both sides",) if times == 1 else ()
    assert cell.notes == ("mine is simulated: no machine was measured", *same)
    assert cell.ratios["metg"].value == pytest.approx(times, rel=0.04)
    first, second = rounds(tmp_path / "r")
    assert first == second and first in LOOKS
    lines = read(tmp_path / "r").lines
    assert [line.cell for line in lines if isinstance(line, MetgLine)] == [
        "mine.old/stencil_1d/width=4",
        "mine.new/stencil_1d/width=4",
    ]
    assert all(line.command is None for line in lines if isinstance(line, CellLine)), "none measures it alone"


def test_what_is_finished_stays_and_what_was_cut_off_goes_on(tmp_path: Path) -> None:
    old, new = system(tmp_path / "old" / "mine", 1e-6), system(tmp_path / "new" / "mine", 1.3e-6)
    first = measured(tmp_path / "r", (old, new))
    runs = tmp_path / "r" / "runs.jsonl"
    content = runs.read_bytes()
    assert measured(tmp_path / "r", (old, new)) == first and runs.read_bytes() == content
    with pytest.raises(TaskgrainError, match="holds results of other builds; choose another --output"):
        measured(tmp_path / "r", (old, system(tmp_path / "newer" / "mine", 1.4e-6)))
    lines = content.splitlines(keepends=True)
    runs.write_bytes(b"".join(lines[: len(lines) // 2]))
    (again,) = measured(tmp_path / "r", (old, new))
    assert again.verdict == first[0].verdict == "slower"


def test_a_build_that_fails_ends_the_other(tmp_path: Path) -> None:
    old, new = (
        system(tmp_path / "old" / "mine", 1e-6),
        system(tmp_path / "n" / "mine", 1e-6, "stencil_1d=crash"),
    )
    (cell,) = measured(tmp_path / "r", (old, new))
    assert (cell.verdict, cell.failed, cell.regression) == ("not comparable", True, True)
    assert cell.why == f"failed in {new} (crash)"
    (turned,) = measured(tmp_path / "turned", (new, old))
    assert (turned.why, turned.failed) == (f"failed in {new} (crash)", False), "not that the other has no run"


def test_folders_with_different_names_are_builds_of_a_system_that_is_named(tmp_path: Path) -> None:
    (pair,) = pairs((system(tmp_path / "old", 1e-6), system(tmp_path / "new", 2e-6)), ["mine"], {})
    assert (pair.name, pair.old.name, pair.new.name) == ("mine", "mine.old", "mine.new")
    assert (pair.old.folder, pair.new.folder) == (tmp_path / "old", tmp_path / "new")


def test_systems_that_both_folders_have_are_compared(tmp_path: Path) -> None:
    for side, overhead in (("old", 1e-6), ("new", 2e-6)):
        for name in ("a", "b", side):
            system(tmp_path / side / name, overhead)
    cells = measured(tmp_path / "r", (tmp_path / "old", tmp_path / "new"))
    assert [cell.system for cell in cells] == ["a", "b"]
    assert [cell.verdict for cell in cells] == ["slower", "slower"]


def test_looks_and_cells_share_the_error() -> None:
    assert confidence(Question(looks=len(LOOKS)), 2) == pytest.approx(1.0 - 0.05 / 18)
    assert list(LOOKS) == sorted(set(LOOKS)) and LOOKS[0] == Settings.min_rounds


@pytest.mark.parametrize(
    ("places", "names", "message"),
    [
        (("{t}/none", "{t}/new/a"), [], "--build: {t}/none is not allowed"),
        (("{t}/old", "{t}/driver"), [], "is a program; say with --system whose driver it is"),
        (("{t}/old", "{t}/driver"), ["nix"], "--system: nix is not allowed; allowed: a, b"),
        (
            ("{t}/driver", "{t}/driver"),
            ["min"],
            "--system: min is not allowed. Did you mean mine? Allowed: each system of {t}/new.",
        ),
        (("{t}/driver", "{t}/driver"), ["mine"], "names no driver in its folder"),
        (("{t}/old/a", "{t}/new/b"), [], "no system in common ({t}/old/a: a; {t}/new/b: b); if both are"),
        (("{t}/old/a", "{t}/new/b"), ["a", "b"], "--system: b is not allowed"),
        (("{t}/lost/a", "{t}/old/a"), [], "cannot run here: no file"),
    ],
)
def test_places_that_are_no_builds(
    tmp_path: Path, places: tuple[str, str], names: Sequence[str], message: str
) -> None:
    for name in ("a", "b"):
        system(tmp_path / "old" / name, 1e-6)
    system(tmp_path / "new" / "b", 1e-6)
    lost = system(tmp_path / "lost" / "a", 1e-6)
    with (lost / "system.toml").open("a") as file:
        file.write('[probe]\nfiles = ["{dir}/driver"]\n')
    (tmp_path / "driver").write_text("")
    (known,) = pairs((tmp_path / "new" / "b", tmp_path / "old" / "b"), [], {})
    first, second = (Path(one.format(t=tmp_path)) for one in places)
    with pytest.raises(TaskgrainError) as refused:
        pairs((first, second), names, {"mine": known.old})
    assert refused.value.exit_code == 2
    assert message.format(t=tmp_path) in str(refused.value)


def driver(file: Path, *words: str) -> Path:
    """A program that is the fake driver, or other words of a shell."""
    text = " ".join(words) or f"exec {sys.executable} {FAKE} 1e-6"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_a_program_that_is_no_driver_of_the_system_is_refused(tmp_path: Path) -> None:
    known = {"mine": System("mine", tmp_path, "Mine", command=("{dir}/driver",))}
    good, plain = driver(tmp_path / "good"), tmp_path / "plain"
    plain.write_text("x")

    def refused(first: Path, second: Path) -> str:
        with pytest.raises(UsageError) as found:
            check_programs((first, second), pairs((first, second), ["mine"], known), CORES)
        return str(found.value)

    check_programs((good, good), pairs((good, good), ["mine"], known), CORES)
    assert refused(good, plain) == f"--build: {plain} is not executable"
    none = driver(tmp_path / "none", "exit 3")
    no_driver = rf"--build: {re.escape(str(none))} is no driver of mine: ended (during|before) hello"
    assert re.match(no_driver, refused(good, none))
    other = driver(tmp_path / "other", f"{sys.executable} {FAKE} 1e-6 | sed -u 's/fake/other/'")
    said = f"--build: the programs are drivers of two systems: {good} of fake, {other} of other"
    assert refused(good, other) == said
    known["mine"] = replace(known["mine"], group="default")
    assert refused(good, good) == f"--build: {good} is the driver of fake, not of mine"


def test_a_program_takes_the_place_of_the_driver(tmp_path: Path) -> None:
    known = runnable()
    if "limit" not in known:
        pytest.skip("no system is built")
    program = tmp_path / "driver"
    program.write_bytes((known["limit"].folder / "driver").read_bytes())
    program.chmod(0o755)
    (pair,) = pairs((known["limit"].folder / "driver", program), ["limit"], known)
    assert isinstance(pair, Pair)
    assert pair.new.launch(CORES).command == (str(program),)
    assert (pair.old.name, pair.new.name) == ("limit.old", "limit.new")
    settings = Settings(budget=2.0)
    measure([pair], WORKLOAD, settings, CORES, tmp_path / "r", Question(), quiet=True)
    (cell,) = compared([pair], tmp_path / "r", (program, program), Question()).cells
    assert cell.system == "limit"


SETTINGS = CellSettings(precision=0.5, max_rounds=24)


def test_it_does_not_end_because_metg_is_known() -> None:
    side, search = UntilDecided(SETTINGS), MetgSearch(SETTINGS)
    for one in (side, search):
        drive(one, SimulatedSystem(constant(1e-7), Noise()))
    assert search.rounds == SETTINGS.min_rounds
    assert side.rounds == SETTINGS.max_rounds


def test_it_ends_when_it_is_told() -> None:
    side, system = UntilDecided(SETTINGS), SimulatedSystem(constant(1e-7), Noise())
    drive(side, system, most_runs=120)
    assert not side.done and 10 < side.rounds < 24
    side.end()
    assert side.done and side.next_round() == []
    assert side.result(system.rates).metg.value == pytest.approx(2e-7, rel=0.05)


def test_it_ends_where_there_is_no_crossing() -> None:
    side = UntilDecided(replace(SETTINGS, max_task_seconds=1e-6))
    drive(side, SimulatedSystem(constant(1e-4)))
    assert side.done and side.rounds < 10


def test_everything_has_the_empty_kernel() -> None:
    side = UntilDecided(SETTINGS)
    drive(side, SimulatedSystem(constant(1e-7), Noise()), most_runs=120)
    empty = [one for one in side.everything() if not one.iterations]
    assert len({one.round for one in empty}) >= 3
    assert [one for one in side.everything() if one.iterations] == side.samples()
