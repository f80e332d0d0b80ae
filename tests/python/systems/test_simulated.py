"""Systems that are simulated: what they say repeats to the digit, and is marked."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from driver_process import CORES
from killable_study import finish, program

from taskgrain import _core
from taskgrain.drive import catalogue
from taskgrain.drive.answers import DriverError
from taskgrain.drive.session import Session

SYSTEMS = {name: one for name, one in catalogue.discover().items() if one.name.startswith("mpi_simulated")}
pytestmark = pytest.mark.uses("mpi_simulated")
PATTERNS = [str(name) for name in _core.patterns() if name != "dag"]


def seconds(name: str, nodes: int, patterns: Sequence[str], folder: Path) -> list[tuple[float, ...]]:
    """The seconds that a fresh simulation tells for a run of each pattern that checks every byte."""
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
    """The 12 800 FLOP of a task at 20 GFLOP/s, 17 ns for itself, and 17 ps for each byte."""
    step = 2 * 16 * (100 * 128 / 20e9 + 17e-9 + 17e-12 * 40)
    (found,) = seconds("mpi_simulated", 1, ["no_comm"], tmp_path)
    assert found == pytest.approx([6 * step] * 2, rel=1e-6)


@pytest.mark.parametrize("output", [400, 65536])
@pytest.mark.parametrize(
    ("name", "nodes", "way", "rate"),
    [
        ("mpi_simulated", 1, 196e-9, 26e9),  # through memory
        ("mpi_simulated", 2, 2 * 250e-9, 12.5e9),  # to the leaf switch, and from it
        ("mpi_simulated.dragonfly", 1, 196e-9, 26e9),
        ("mpi_simulated.dragonfly", 2, 2 * 200e-9, 5.25e9),
    ],
)
def test_a_message_takes_what_the_platform_says(
    name: str, nodes: int, way: float, rate: float, output: int, tmp_path: Path
) -> None:
    """What a step of two ranks adds that send to each other, beside its kernel: the task, 17 ps for each byte
    of its output, MPI's 68 ns and 80 ps for each byte at each end, and the way of the message, which is 16
    bytes longer."""
    kernel = {"name": "compute_bound", "iterations": 100}
    graph = {"pattern": "stencil_1d", "width": 2, "output_bytes": output, "kernel": kernel}
    with Session(name, SYSTEMS[name].launch(range(2 // nodes), nodes=nodes), tmp_path / "log") as session:
        session.start()
        few, many = (session.run([graph | {"steps": n}], repeats=1).seconds[0] for n in (10, 110))
    step = (many - few) / 100 - 100 * 128 / 20e9
    ends = 2 * (68e-9 + 80e-12 * output)
    assert step == pytest.approx(17e-9 + 17e-12 * output + ends + way + (output + 16) / rate, rel=0.01)


def started(program: str, *words: object) -> subprocess.CompletedProcess[str]:
    """One of the system's programs, asked for its rates."""
    asked = json.dumps({"op": "peak", "id": 1})
    command = [sys.executable, SYSTEMS["mpi_simulated"].folder / program, *map(str, words)]
    return subprocess.run(command, input=asked, text=True, capture_output=True)


def test_the_description_says_the_rate_of_a_core_or_is_refused(tmp_path: Path) -> None:
    description = SYSTEMS["mpi_simulated"].folder / "networks.xml"
    assert f'"rates": {[2e10] * 4}' in started("given_rate.py", description, 2, 2).stdout
    other = tmp_path / "other.xml"
    other.write_text(description.read_text("utf-8").replace("20Gf", "20Mf"))
    refused = started("given_rate.py", other, 2, 2)
    assert (refused.returncode, "needs a speed of its cores such as 20Gf, not '20Mf'" in refused.stderr) == (
        1,
        True,
    )
    refused = started("simulate.py", description, "ring", "driver", 2, 2)
    assert (refused.returncode, "no <network name='ring'>" in refused.stderr) == (1, True)


def test_a_search_is_of_as_many_nodes_as_asked_and_says_that_they_are_simulated() -> None:
    words = ["--pattern", "stencil_1d", "--tasks-per-core", "1", "--nodes", "2", "--cores", "1"]
    settings = ["--steps", "20", "--repeats", "1", "--min-rounds", "2", "--max-rounds", "2"]
    (cell,) = finish(["metg", "--system", "mpi_simulated", *words, *settings], 0)["cells"]
    assert (cell["cores"], cell["simulated"]) == (2, True)
    assert 1e-7 < cell["metg"] < 1e-4


@pytest.mark.parametrize(("name", "nodes"), [("mpi_simulated", 4096), ("mpi_simulated.bulk_dragonfly", 3072)])
def test_as_many_nodes_as_the_platform_has_and_no_more(name: str, nodes: int, tmp_path: Path) -> None:
    assert SYSTEMS[name].most_nodes == nodes
    kind = next(word for word in SYSTEMS[name].command if word in ("fat_tree", "dragonfly"))
    description = ElementTree.parse(SYSTEMS[name].folder / "networks.xml")
    network = description.find(f"network[@name='{kind}']")
    assert network is not None and network.get("radical") == f"0-{nodes - 1}"
    study = tmp_path / "s.toml"
    study.write_text(f'systems = ["{name}"]\nnodes = [1, {nodes + 1}]\npatterns = ["fft"]\n')
    done = subprocess.run(
        [*program(["study", str(study)]), "-q"], capture_output=True, text=True, cwd=tmp_path
    )
    said = f"nodes[1]: {nodes + 1} is not allowed; allowed: 1 to {nodes}, which {name} has\n"
    assert (done.returncode, done.stderr) == (2, f"taskgrain: {study}:2:13: {said}")
    assert list(tmp_path.iterdir()) == [study]


def test_a_node_may_have_more_cores_than_this_machine(tmp_path: Path) -> None:
    words = ["run", "--system", "mpi_simulated", "--nodes", "2", "--cores", "40", "--iterations", "1"]
    (run,) = finish([*words, "--steps", "1", "--repeats", "1", "--warmup", "0"])["runs"]
    assert (run["cores"], run["workload"]) == (80, "stencil_1d/width=80/nodes=2")
    (tmp_path / "s.toml").write_text('systems = ["mpi_simulated"]\ncores = [2, 4000]\npatterns = ["fft"]\n')
    found = finish(["study", str(tmp_path / "s.toml"), "--dry-run"])
    assert [one["cell"].rsplit("/", 1)[1] for one in found["cells"]] == ["cores=2", "cores=4000"]
    refused = [*program(["run", "--system", "serial,mpi_simulated", "--cores", "4000"])]
    done = subprocess.run(refused, capture_output=True, text=True)
    assert done.returncode == 2 and "--cores: 4000 is not allowed" in done.stderr


def test_what_is_not_flops_is_refused_as_its_file_says(tmp_path: Path) -> None:
    system, supported = SYSTEMS["mpi_simulated"], []
    with Session(system.name, system.launch(CORES[:1]), tmp_path / "log") as session:
        session.start()
        for name in _core.kernels():
            kernel = {"name": name, "iterations": 1}
            try:
                session.run([{"pattern": "fft", "width": 1, "steps": 2, "kernel": kernel}], repeats=1)
                supported.append(name)
            except DriverError as error:
                assert "a simulation knows how long FLOPs take" in error.message
                assert error.kind == "unsupported"
    assert sorted(supported) == sorted(system.kernels)
