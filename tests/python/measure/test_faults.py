"""Tests of faults on real drivers: one that tries again, and one that does not."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from killable_study import FAKE

from taskgrain.drive.answers import Disturbed
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.measure.faults import Fault, Measurement, Wanted, run, summary
from taskgrain.study.field import flag
from taskgrain.study.study import workload
from taskgrain.words.errors import UsageError

CORES = tuple(sorted(os.sched_getaffinity(0))[:2])
RETRYING = Path(__file__).parents[1] / "drivers" / "retrying.py"


def system(folder: Path, *words: object, simulated: bool = False) -> System:
    folder.mkdir()
    command = (sys.executable, *map(str, words))
    return System(folder.name, folder, folder.name, command=command, simulated=simulated)


def wanted(kind: str, times: int = 1, repeats: int = 2, iterations: int = 10) -> Wanted:
    graph = workload({"pattern": "stencil_1d", "width": 4}, len(CORES), flag)
    return Wanted(graph, steps=10, iterations=iterations, fault=Fault(kind, 5, 1, times), repeats=repeats)


@pytest.mark.parametrize(("kind", "times"), [("kill", 1), ("kill", 2), ("fail", 1), ("fail", 3)])
def test_who_tries_again_survives(tmp_path: Path, kind: str, times: int) -> None:
    found = run(system(tmp_path / "retrying", RETRYING), CORES, wanted(kind, times))
    assert (found["runs"], found["struck"], found["survived"], found["correct"]) == (2, 2, 2, 2)
    assert found["again"] == {"median": times, "low": times, "high": times}
    lost = sorted(one["seconds"] - one["plain_seconds"] for one in found["takes"])
    assert found["lost_seconds"] == {"median": sum(lost) / 2, "low": lost[0], "high": lost[1]}
    assert (found["ended"], found["next_run"]) == ([], ["works"])
    assert found["fault"] == {"kind": kind, "step": 5, "point": 1, "times": times}


def test_who_does_not_try_again_fails_and_serves_on(tmp_path: Path) -> None:
    found = run(system(tmp_path / "retrying", RETRYING, 0), CORES, wanted("fail", repeats=1))
    assert (found["struck"], found["survived"], found["correct"]) == (1, 0, 0)
    (how,) = found["ended"]
    assert how.startswith("system: RuntimeError: the fault that the run was asked for: task (5, 1) fails")
    assert found["next_run"] == ["works"]
    assert (found["again"], found["lost_seconds"]) == (None, None)


def test_a_driver_that_is_killed_is_started_again(tmp_path: Path) -> None:
    driver = tmp_path / "driver.py"
    driver.write_text(
        "from taskgrain.system import System, drive\n"
        "class Serial(System):\n"
        "    name, version, cores = 'serial', '1', 1\n"
        "    def execute(self, run):\n"
        "        before = {}\n"
        "        for step in range(run.steps()):\n"
        "            first, last = run.points(0, step)\n"
        "            before = {i: run.execute(0, 0, step, i, [before[j] for j in run.deps(0, step, i)])\n"
        "                      for i in range(first, last + 1)}\n"
        "drive(Serial)\n"
    )
    found = run(system(tmp_path / "one", driver), CORES[:1], wanted("kill"))
    assert (found["struck"], found["survived"]) == (2, 0)
    assert found["ended"] == ["crash: ended during run (killed by signal 9)"]
    assert found["next_run"] == ["works in a new driver"]
    (first, _) = found["takes"]
    assert (first["struck"], first["correct"], first["seconds"]) == (True, None, None)


@pytest.mark.skipif(len(CORES) < 2, reason="there is one core")
@pytest.mark.parametrize("kind", ["take_core", "give_core"])
def test_a_core_is_taken_or_given(tmp_path: Path, kind: str) -> None:
    retrying = system(tmp_path / "retrying", RETRYING)
    for _ in range(5):  # on a busy machine a run may be over before it is struck
        found = run(retrying, CORES, wanted(kind, repeats=1, iterations=1_000_000))
        if found["struck"]:
            break
    assert (found["struck"], found["survived"], found["correct"]) == (1, 1, 1)
    assert (found["again"]["median"], found["next_run"]) == (0, ["works"])


def test_a_system_that_gets_one_core_alone_loses_none(tmp_path: Path) -> None:
    one = replace(system(tmp_path / "one", RETRYING), most_cores=1)
    found = run(one, CORES, wanted("take_core"))
    assert (found["error"], found["runs"]) == ("unsupported", 0)
    assert found["message"] == "this system uses one core, which stays"


def test_what_is_lost_is_lost_to_the_runs_before_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that gets quicker with each run loses nothing by that."""
    seconds = iter([9.0, 8.0, 7.5, 7.0, 6.5, 6.0])
    original = Session.disturbed

    def disturbed(session: Session, *words: Any, **named: Any) -> Disturbed:
        found = original(session, *words, **named)
        return replace(found, result=replace(found.result, seconds=(next(seconds),)))

    monkeypatch.setattr(Session, "disturbed", disturbed)
    found = run(system(tmp_path / "retrying", RETRYING), CORES, wanted("fail"))
    assert [one["plain_seconds"] for one in found["takes"]] == [7.5, 6.5]
    assert found["lost_seconds"] == {"median": 0.0, "low": 0.0, "high": 0.0}


def test_a_system_that_leaves_the_task_out_survives_and_is_wrong(tmp_path: Path) -> None:
    text = RETRYING.read_text().replace("        raise failure", "        return bytes(16)")
    (tmp_path / "driver.py").write_text(text)
    found = run(system(tmp_path / "careless", tmp_path / "driver.py", 0), CORES, wanted("fail", repeats=1))
    assert (found["survived"], found["correct"]) == (1, 0)
    assert found["ended"][0].startswith("validation: wrong_bytes: graph 0, step 6")


def test_a_system_that_fails_without_a_fault_is_said_to(tmp_path: Path) -> None:
    fake = system(tmp_path / "fake", FAKE, "1e-6", "0.02", "stencil_1d=system", simulated=True)
    found = run(fake, CORES, wanted("kill"))
    assert (found["error"], found["runs"], found["takes"]) == ("system", 0, [])
    assert found["plain_seconds"] is None
    fake = system(tmp_path / "picky", FAKE, "1e-6", "0.02", "stencil_1d=invalid", simulated=True)
    with pytest.raises(UsageError, match="picky: pattern: stencil_1d is not allowed"):
        run(fake, CORES, wanted("kill"))


def test_a_driver_that_lies_about_the_fault_is_not_believed(tmp_path: Path) -> None:
    text = FAKE.read_text()
    (tmp_path / "unstruck.py").write_text(text.replace('strikes.to_bytes(8, "little")', "bytes(8)"))
    (tmp_path / "unfailed.py").write_text(text.replace("executed=tasks + 3", "executed=tasks"))
    words = ("1e-6", "0.02", "=")
    unstruck = system(tmp_path / "a", tmp_path / "unstruck.py", *words, simulated=True)
    found = run(unstruck, CORES, wanted("kill"))
    assert found["ended"] == ["protocol: says that the fault struck 1 times; its books say 0"]
    unfailed = system(tmp_path / "b", tmp_path / "unfailed.py", *words, simulated=True)
    found = run(unfailed, CORES, wanted("fail"))
    assert (found["struck"], found["survived"]) == (2, 0)
    assert found["ended"] == ["protocol: 1 executions have not ended, and 0 were begun again"]


def test_a_driver_that_ends_before_the_fault_is_not_struck(tmp_path: Path) -> None:
    text = RETRYING.read_text().replace(
        "        for g in range(run.graphs):\n",
        "        if self.runs > 2:\n            import os; os.abort()\n        self.runs += 1\n"
        "        for g in range(run.graphs):\n",
    )
    text = text.replace('name, version = "retrying", "1"', 'name, version, runs = "early", "1", 1')
    (tmp_path / "driver.py").write_text(text)
    found = run(system(tmp_path / "early", tmp_path / "driver.py"), CORES, wanted("fail", repeats=1))
    assert (found["runs"], found["struck"], found["survived"]) == (1, 0, 0)
    assert found["ended"] == ["crash: ended during run (killed by signal 6)"]


def test_only_runs_that_the_fault_struck_count() -> None:
    takes = [
        Measurement(1.0, True, True, True, seconds=1.5, again=2, next_run="works"),
        Measurement(1.0, False, True, True, seconds=9.0, again=0, next_run="works", busy=0.5),
        Measurement(3.0, True, False, ended="crash: x", next_run="works in a new driver"),
        Measurement(2.0, True, True, False, ended="validation: y", next_run="works"),
    ]
    found = summary(takes, [1.0, 1.0, 2.0, 2.0, 3.0])
    assert (found["runs"], found["struck"], found["survived"], found["correct"]) == (4, 3, 2, 1)
    assert found["lost_seconds"] == {"median": 0.5, "low": 0.5, "high": 0.5}
    assert found["again"] == {"median": 2, "low": 2, "high": 2}
    assert (found["plain_seconds"], found["busy"]) == (2.0, 0.5)
    assert found["ended"] == ["crash: x", "validation: y"]
    assert found["next_run"] == ["works", "works in a new driver"]
    assert summary([], [])["plain_seconds"] is None
