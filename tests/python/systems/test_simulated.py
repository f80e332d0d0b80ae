"""Systems that are simulated: what they say repeats to the digit, and is marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from driver_process import CORES
from killable_study import finish

from taskgrain import _core
from taskgrain.drive import catalogue
from taskgrain.drive.session import Session

SYSTEMS = {name: one for name, one in catalogue.discover().items() if one.name.startswith("mpi_simulated")}
pytestmark = pytest.mark.skipif(
    not any(one.probe().available for one in SYSTEMS.values()), reason="SimGrid is not set up"
)
PATTERNS = [str(name) for name in _core.patterns() if name != "dag"]


def seconds(name: str, nodes: int, patterns: Sequence[str], folder: Path) -> list[tuple[float, ...]]:
    """What a fresh simulation says of a run of each pattern that checks every byte."""
    kernel = {"name": "compute_bound", "iterations": 100}
    graph = {"width": 16, "steps": 6, "output_bytes": 40, "kernel": kernel}
    with Session(name, SYSTEMS[name].launch(CORES[:1], nodes=nodes), folder / "log") as session:
        ready = session.start()
        assert (ready.nodes, ready.cores, ready.binding) == (nodes, nodes, ())
        graphs = [[graph | {"pattern": one}] * 2 for one in patterns]
        return [session.run(one, repeats=2, validate="full").seconds for one in graphs]


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_pattern_is_valid_and_repeats_to_the_digit(name: str, tmp_path: Path) -> None:
    assert PATTERNS
    assert seconds(name, 5, PATTERNS, tmp_path) == seconds(name, 5, PATTERNS, tmp_path)


def test_a_step_takes_what_the_platform_says(tmp_path: Path) -> None:
    """The 12 800 FLOP of a task at 20 GFLOP/s, 17 ns for itself, and 33 ps for each byte."""
    step = 2 * 16 * (100 * 128 / 20e9 + 17e-9 + 33e-12 * 40)
    (found,) = seconds("mpi_simulated", 1, ["no_comm"], tmp_path)
    assert found == pytest.approx([6 * step] * 2, rel=1e-6)


def test_a_search_is_of_as_many_nodes_as_asked_and_says_that_they_are_simulated() -> None:
    words = ["--pattern", "stencil_1d", "--tasks-per-core", "1", "--nodes", "2", "--cores", "1"]
    settings = ["--steps", "20", "--repeats", "1", "--min-rounds", "2", "--max-rounds", "2"]
    (cell,) = finish(["metg", "--system", "mpi_simulated", *words, *settings], 0)["cells"]
    assert (cell["cores"], cell["simulated"]) == (2, True)
    assert 1e-7 < cell["metg"] < 1e-4


def test_what_is_not_flops_is_refused() -> None:
    asked = ["run", "--system", "mpi_simulated", "--kernel", "busy_wait", "--iterations", "1"]
    (run,) = finish(asked, 1)["runs"]
    assert (run["error"], "a simulation knows how long FLOPs take" in run["message"]) == ("unsupported", True)
