"""Tests of the way from a study to its results: checks first, old folders, interrupts in good order."""

import json
import platform
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from stored_cells import stored

from taskgrain.drive.system import System
from taskgrain.measure import call
from taskgrain.measure.call import checked_cells, completed
from taskgrain.measure.runner import Runner
from taskgrain.results.builds import Choice
from taskgrain.results.cell import Cell
from taskgrain.results.lines import Build, MetgLine, SessionLine
from taskgrain.study.settings import Settings
from taskgrain.study.study import Study, parse
from taskgrain.study.toml import loads
from taskgrain.study.workload import Workload
from taskgrain.words.endings import Ending
from taskgrain.words.errors import InputError, UsageError


def systems(folder: Path) -> list[System]:
    return [System("one", folder, "one", command=("x",))]


def test_cells_are_checked_before_anything_starts(tmp_path: Path) -> None:
    study = Study(("one",), (Workload("fft", 4),))
    assert [cell.name for cell in checked_cells(study, systems(tmp_path), 2)] == ["one/fft/width=4"]
    excluded = Study(("one",), (Workload("fft", 4),), exclude=({"pattern": ["fft"]},))
    with pytest.raises(UsageError, match="no cells"):
        checked_cells(excluded, systems(tmp_path), 2)
    with pytest.raises(UsageError, match="period"):
        checked_cells(Study(("one",), (Workload("spread", 4, period=99),)), systems(tmp_path), 2)
    named = "s.toml:1:1: {}".format
    odd = Study(("one",), (Workload("fft", 4),), Settings(experiment="odd"), settings_named=named)
    with pytest.raises(InputError, match=r"1:1: experiment: odd is not allowed; allowed: metg, sweep"):
        checked_cells(odd, systems(tmp_path), 2)


def test_what_is_simulated_needs_no_hosts_and_stands_alone(tmp_path: Path) -> None:
    study = Study(("one",), (Workload("fft", 4, nodes=256),))
    cells = study.cells(study.systems)
    one = replace(systems(tmp_path)[0], simulated=True, command=("it", "{nodes}"), most_nodes=256)
    assert call.hosts_for(study, cells, [one]) == ()
    few = replace(one, most_nodes=255)
    with pytest.raises(InputError, match="nodes: 256 is not allowed; allowed: 1 to 255, which one has"):
        call.hosts_for(study, cells, [few])
    with pytest.raises(UsageError, match="one is simulated, and two measured"):
        call.hosts_for(study, cells, [one, System("two", tmp_path, "two")])
    named = replace(study, settings=replace(study.settings, hosts="a"))
    with pytest.raises(
        InputError, match="hosts: a is not allowed; allowed: none, as one simulates its nodes"
    ):
        call.hosts_for(named, cells, [one])
    with pytest.raises(UsageError, match="nodes: one is not distributed: it runs on one node"):
        call.hosts_for(study, cells, systems(tmp_path))
    several = [replace(one, distributed=True, ranks="core") for one in systems(tmp_path)]
    with pytest.raises(UsageError, match="nodes: 256 are asked for, with 1 host known"):
        call.hosts_for(study, cells, several)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('isa = "neon"', "s.toml:2:12: patterns: instruction set neon is not available on this"),
        ("period = 2", "s.toml:3:10: period: '2' is not allowed"),
        ("steps = 1e18", "s.toml:3:9: steps: '1000000000000000000' is not allowed"),
    ],
)
def test_what_the_core_refuses_has_its_place(tmp_path: Path, line: str, words: str) -> None:
    text = f'systems = ["one"]\npatterns = ["dom"]\n{line}\n'
    study = parse(loads(text, Path("s.toml")), cores=2)
    if "neon" in line and platform.machine() != "x86_64":
        pytest.skip("may have NEON")
    with pytest.raises(UsageError, match=re.escape(words) + r".* \(in dom/"):
        checked_cells(study, systems(tmp_path), 2)


def test_a_stored_study_means_the_defaults_of_what_it_does_not_say() -> None:
    defaults = asdict(Settings())
    assert completed({}) == defaults
    assert completed({"threshold": 0.7}) == defaults | {"threshold": 0.7}
    (workload,) = completed({"workloads": [{"pattern": "fft", "width": 4}]})["workloads"]
    assert workload == Workload("fft", 4).fields()
    assert completed({"workloads": "odd"})["workloads"] == "odd"


@pytest.mark.parametrize("choice", ["restart", "keep"])
def test_an_interrupt_before_the_first_line_shows_what_the_folder_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: Choice
) -> None:
    def interrupt(_: Runner) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "run", interrupt)
    monkeypatch.setenv("TASKGRAIN_REFERENCE", sys.executable)
    study, folder = Study(("one",), (Workload("fft", 4),)), tmp_path / "out"

    def measured(other_builds: Choice) -> Cell:
        found = call.measure(
            study, systems(tmp_path), (0, 1), folder, retry=False, quiet=True, other_builds=other_builds
        )
        assert "the same command goes on from here" in found.interrupted
        (cell,) = found.cells
        return cell

    assert measured("refuse").ending == "unfinished"
    name = "one/fft/width=4"
    lines = [
        SessionLine(session="5f", systems=(Build(name="one", build="another"),)),
        MetgLine(cell=name, ending=Ending.PRECISE, metg=1e-6, low=9e-7, high=1.1e-6),
    ]
    (folder / "runs.jsonl").write_text("".join(json.dumps(line.to_json()) + "\n" for line in lines))
    assert (measured(choice).ending, measured(choice).metg.value) == ("precise", 1e-6)


def test_a_spent_study_without_its_ratios_is_not_through() -> None:
    """As after an interrupt between the last result and the ratios."""
    best, other = stored("a"), stored("b", metg=2e-6)
    assert not call._compared([best, other])
    assert call._compared([best, stored("b", metg=2e-6, ratios={"a": (2.0, 1.9, 2.1)})])
    assert call._compared([best, stored("b", metg=None, error="crash")])
    assert call._compared([])
