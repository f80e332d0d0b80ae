"""The drivers for GPUs where there is none: they are built, start, say what they need, and end."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from taskgrain.system import discover, package_folder

SYSTEMS = {name: one for name, one in discover().items() if name in ("cuda_graph", "mpi_cuda", "mpi_cuda.w4")}
REFERENCE = package_folder() / "bin" / "taskgrain-reference-cuda"
HIDDEN = {"CUDA_VISIBLE_DEVICES": "-1"}
"""Hides a GPU that there is."""


def end(command: list[str], text: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **environment, **HIDDEN}
    return subprocess.run(command, input=text, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", sorted(SYSTEMS))
@pytest.mark.parametrize("arguments", ([], ["--pattern", "stencil_1d", "--steps", "3"]))
def test_without_a_gpu(name: str, arguments: list[str]) -> None:
    system = SYSTEMS[name]
    if not (system.folder / "driver").exists():
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


def test_the_probe_looks_for_a_gpu() -> None:
    if not SYSTEMS:
        pytest.skip("no systems are installed")
    assert set(SYSTEMS) == {"cuda_graph", "mpi_cuda", "mpi_cuda.w4"}
    for system in SYSTEMS.values():
        assert system.probe().available == (
            (system.folder / "driver").exists()
            and Path("/dev/nvidiactl").exists()
            and not [one for one in system.probe().missing if one.startswith("program")]
        )
        assert "needs an NVIDIA GPU with its driver" in system.probe().install
