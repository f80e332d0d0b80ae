"""The drivers for GPUs where there is none: they are built, start, say what they need, and end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from taskgrain.drive.catalogue import discover, package_folder
from taskgrain.drive.system import System

NAMES = {"cuda_graph", "mpi_cuda", "mpi_cuda.w4", "taskgrain_graph.cuda"}
SYSTEMS = {name: one for name, one in discover().items() if name in NAMES}
REFERENCE = package_folder() / "bin" / "taskgrain-reference-cuda"
ON_HOST = Path(__file__).parents[3] / "build/tests/tests/cpp"
"""The folder in which `make test-cpp` builds drivers and reference with the host in the place of a GPU."""
HIDDEN = {"CUDA_VISIBLE_DEVICES": "-1"}
"""Hides a GPU that there is."""


def built(system: System) -> bool:
    return Path(system.launch([0]).command[-1]).exists()


def end(command: list[str], text: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **environment, **HIDDEN}
    return subprocess.run(command, input=text, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("name", sorted(SYSTEMS))
@pytest.mark.parametrize("arguments", ([], ["--pattern", "stencil_1d", "--steps", "3"]))
def test_without_a_gpu(name: str, arguments: list[str]) -> None:
    system = SYSTEMS[name]
    if not built(system):
        pytest.skip("CUDA's compiler is not installed")
    cores = range(system.most_cores or 1)
    launch = system.launch(list(cores))
    done = end([*launch.command, *arguments], '{"op":"hello"}\n', dict(launch.env))
    assert done.returncode == 1
    assert "needs an NVIDIA GPU with its driver" in done.stderr
    assert "@taskgrain" not in done.stdout


@pytest.mark.parametrize("arguments", ([], ["--peak"]))
def test_the_reference_without_a_gpu(arguments: list[str]) -> None:
    if not REFERENCE.exists():
        pytest.skip("CUDA's compiler is not installed")
    done = end([str(REFERENCE), *arguments], '{"op":"hello"}\n', {})
    assert done.returncode == 1
    assert "needs an NVIDIA GPU with its driver" in done.stderr


def test_they_share_their_reference() -> None:
    assert len({system.reference_launch([0, 1]).command for system in SYSTEMS.values()}) <= 1


def test_the_probe_looks_for_a_gpu() -> None:
    if not SYSTEMS:
        pytest.skip("no systems are installed")
    assert set(SYSTEMS) == NAMES
    for system in SYSTEMS.values():
        assert system.probe().available == (
            built(system)
            and Path("/dev/nvidiactl").exists()
            and not [one for one in system.probe().missing if one.startswith("program")]
        )
        assert "needs an NVIDIA GPU with its driver" in system.probe().install


@pytest.mark.parametrize("name", ("cuda_graph", "mpi_cuda", "taskgrain_graph_cuda"))
def test_a_kernel_that_fails_ends_the_run(name: str) -> None:
    """With the host in the place of a GPU, whose 600th kernel fails: it answers with what CUDA says."""
    driver = ON_HOST / f"taskgrain-{name}-on-host"
    if not driver.exists():
        pytest.skip("make test-cpp has not built it, or CUDA's compiler is not installed")
    graph = {"pattern": "stencil_1d", "width": 8, "steps": 100, "kernel": {"name": "empty", "iterations": 0}}
    run = {"op": "run", "id": 1, "graphs": [graph], "repeats": 1, "warmup": 0, "validate": "sample"}
    text = "".join(json.dumps(one) + "\n" for one in ({"op": "hello"}, run, {"op": "quit"}))
    done = end([str(driver)], text, {"TASKGRAIN_TEST_BAD_KERNEL": "600"})
    answers = [json.loads(line[11:]) for line in done.stdout.splitlines() if line.startswith("@taskgrain ")]
    assert [one["event"] for one in answers] == ["ready", "error"]
    assert (answers[1]["kind"], answers[1]["message"]) == ("system", "cudaStreamSynchronize: an error")


@pytest.mark.submission
def test_metg_with_the_host_in_place_of_a_gpu(tmp_path: Path) -> None:
    """Beside a system on the cores: each is held against its own reference."""
    driver, reference = (ON_HOST / f"taskgrain-{name}-on-host" for name in ("cuda_graph", "reference-cuda"))
    if not driver.exists():
        pytest.skip("make test-cpp has not built it, or CUDA's compiler is not installed")
    folder = tmp_path / "systems" / "host_graph"
    folder.mkdir(parents=True)
    launch = f"command = [{str(driver)!r}]\nreference = [{str(reference)!r}]\n"
    (folder / "system.toml").write_text(f"[launch]\n{launch}[limits]\ncores = 1\n")
    words = ["--systems", str(folder), "--output", str(tmp_path / "out"), "--json", "--quiet", "--width", "2"]
    words += ["--system", "host_graph,limit", "--min-rounds", "3", "--max-rounds", "3"]
    done = subprocess.run([sys.executable, "-m", "taskgrain", "metg", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {cell["system"]: cell for cell in json.loads(done.stdout)["cells"]}
    assert found["host_graph"]["cores"] == 1
    assert found["host_graph"]["ending"] != "failed"  # whether a number is found is up to the noise
    assert (tmp_path / "out" / "logs" / "taskgrain-reference-cuda-on-host.log").exists()
    lines = map(json.loads, (tmp_path / "out" / "runs.jsonl").read_text().splitlines())
    assert {len(one["rates"]) for one in lines if one.get("program") == reference.name} == {1}
