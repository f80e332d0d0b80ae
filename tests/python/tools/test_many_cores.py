"""tools/many-cores: its studies and how it spends its time. Nothing is built or measured."""

import json
import runpy
from argparse import Namespace
from pathlib import Path
from typing import Any

import bare_machine
import pytest
from suites import SUITES

from taskgrain.study import study

SCRIPT = Path(__file__).parents[3] / "tools" / "many-cores"
PARTS: dict[str, Any] = runpy.run_path(str(SCRIPT))
ABSENT = ("starpu", "taskgrain_graph.ranks")


class Simulated(PARTS["ManyCores"]):  # type: ignore[misc]
    """A machine with `here` cores and a clock of its own, on which each command takes as long as it may."""

    def __init__(self, out: Path, seconds: float, here: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.here, self.clock, self.commands = here, 1000.0, list[tuple[str, ...]]()
        monkeypatch.setattr(bare_machine.time, "monotonic", lambda: self.clock)
        super().__init__(out, seconds)

    def unpack(self) -> str:
        return ""

    def install(self, *systems: str) -> str:
        return ", ".join(systems)

    def call(self, *words: object, limit: float, text: str = "", interrupted: int = 0) -> str:
        said = tuple(map(str, words))
        self.commands.append(said)
        if "--cmake_dir" in said or "help" in said or "systems" in said or "-c" in said:
            answers = {
                "help": "taskgrain-mpi-driver: phony\ntaskgrain-mpi-driver-mpich: phony\n",
                "-c": str(self.here),
            }
            systems = [{"name": one, "available": False, "missing": ["a file"]} for one in ABSENT]
            return next((answers[word] for word in answers if word in said), json.dumps(systems))
        self.clock += min(limit, 60 if "cmake" in said else limit, self.left)
        return ""


@pytest.mark.parametrize("here", (1, 2, 16, 24, 256))
def test_every_study_is_one_for_each_machine(
    here: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = Simulated(tmp_path, 360, here, monkeypatch)
    assert tool.all() == 0
    assert tool.clock <= tool.end
    for name in PARTS["STUDIES"]:
        read = study.read(tmp_path / f"{name}.toml", here)
        assert read.systems and not set(read.systems) & set(ABSENT)
        cores = {workload.cores or here for workload in read.workloads}
        assert cores == (
            {1, here} | {1 << k for k in range(9) if 1 << k < here} if name == "cores" else {here}
        )


def test_each_part_gets_time_and_all_end_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Simulated(tmp_path / "out", 360, 16, monkeypatch)
    tool.all()
    steps = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert all(one["ok"] for one in steps)
    measured = [one["seconds"] for one in steps[6:]]
    assert len(measured) == len(PARTS["STUDIES"]) + len(PARTS["PROGRAMS"]) + 1
    assert min(measured) > 3 and sum(one["seconds"] for one in steps) <= 360
    [absent] = [one["found"] for one in steps if "cannot run" in one["step"]]
    assert absent == "16 cores; starpu cannot run: a file; taskgrain_graph.ranks cannot run: a file"
    built = next(one for one in tool.commands if "--parallel" in one)
    assert "taskgrain-mpi-driver" in built and "taskgrain-mpi-driver-mpich" not in built


@pytest.mark.parametrize("cores", (1, 2, 16, 64))
def test_sizes_of_applications_are_allowed(cores: int) -> None:
    for program in PARTS["PROGRAMS"]:
        suite = SUITES[program]
        options = {name: flag.read(flag.default) for name, flag in suite.flags.items()}
        options["sizes"] = suite.flags["sizes"].read(PARTS["sizes"](program, cores))
        rest = {"suite": program, "cores": cores, "repeats": 1, "build": "build", "systems": ["MPI"]}
        assert suite.tables(Namespace(**options, **rest))  # raises for sizes that are too small
