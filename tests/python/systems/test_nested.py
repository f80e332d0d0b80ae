"""Drivers that run nested forks alone: they run them right, and refuse what nests nothing."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from driver_process import CORES, DriverProcess, runnable
from killable_study import finish, lines

from taskgrain._core import patterns
from taskgrain.measure.faults import Fault, Wanted, run
from taskgrain.study.field import flag
from taskgrain.study.study import workload

SYSTEMS = runnable(nested=True)
NESTED = ("fork_join", "fork_tree", "random_fork_tree")


@pytest.fixture(params=sorted(SYSTEMS))
def driver(request: pytest.FixtureRequest) -> Iterator[DriverProcess]:
    with DriverProcess(SYSTEMS[request.param]) as one:
        yield one


def test_they_run_any_tree(driver: DriverProcess) -> None:
    """Cut anywhere, with outputs larger than a cache line, and several beside each other."""
    for pattern, width, radix, steps in product(NESTED, (2, 5, 64), (2, 3, 9), (1, 2, 7, 40)):
        graph = {"pattern": pattern, "width": width, "radix": radix, "steps": steps, "output_bytes": 200}
        others = {**graph, "seed": 3, "width": 17}, {**graph, "steps": 3, "output_bytes": 16}
        answer = driver.run(graph, *others, repeats=2)
        assert answer["event"] == "result", answer
        assert answer["executed"] == answer["tasks"]


def test_they_refuse_what_nests_nothing_and_serve_on(driver: DriverProcess) -> None:
    for pattern in {*patterns()} - {*NESTED, "dag"}:
        answer = driver.run({"pattern": pattern, "width": 4, "steps": 5})
        assert (answer["event"], answer["kind"]) == ("error", "unsupported"), answer
        assert "are in fork_join, fork_tree, random_fork_tree of width 2 or more" in answer["message"]
    assert driver.run({"pattern": "fork_tree", "width": 1, "steps": 5})["event"] == "error"
    assert driver.run({"pattern": "fork_tree", "width": 2, "steps": 5})["event"] == "result"
    bound = driver.ask({"op": "hello"})
    assert bound["binding"] == [[core] for core in CORES]


@pytest.mark.parametrize("system", [name for name in sorted(SYSTEMS) if "openmp" not in name])
def test_a_task_that_fails_is_said(system: str) -> None:
    graph = workload({"pattern": "fork_tree", "width": 64, "radix": 2}, len(CORES), flag)
    found = run(SYSTEMS[system], CORES, Wanted(graph, 25, 100, Fault("fail", 10, 3), repeats=1))
    assert found["ended"][0].startswith("system: the fault that the run was asked for"), found
    assert found["next_run"][0].startswith("works"), found


def test_a_study_has_a_metg_of_them_and_says_what_they_cannot_run(tmp_path: Path) -> None:
    study, out = tmp_path / "s.toml", tmp_path / "out"
    table = {"systems": [*SYSTEMS, "serial"], "patterns": ["fork_tree", "tree"], "widths": [16], "radix": 2}
    table |= {"min_rounds": 2, "max_rounds": 2}
    study.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
    cells = finish(["study", str(study), "-o", str(out), "--budget", "30"])["cells"]
    refused = {line["cell"] for line in lines(out, "failure") if line["error"] == "unsupported"}
    assert refused == {one["cell"] for one in cells if one["system"] in SYSTEMS and one["pattern"] == "tree"}
    assert {one["cell"] for one in cells if one["curve"]} == {one["cell"] for one in cells} - refused
