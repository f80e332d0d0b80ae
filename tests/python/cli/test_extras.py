"""Tests of packages that one command alone needs: without them, it says how to install them."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import results_folder
from command_line import Command
from driver_process import REPOSITORY

from taskgrain.productivity import tokens
from taskgrain.results import dashboards, export

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"].keys() - {"dev"}))
def test_a_command_says_what_to_install(
    taskgrain: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, extra: str
) -> None:
    for requirement in PROJECT["optional-dependencies"][extra]:
        monkeypatch.setitem(sys.modules, re.split("[<>~=]", requirement)[0].replace("-", "_"), None)
    tokens._parser.cache_clear()
    folder = results_folder.big(tmp_path, ["mpi"], ["fft"])
    done = taskgrain(extra, *([folder, "--format", "parquet"] if extra == "export" else []))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.endswith(f"not installed: {sys.executable} -m pip install 'taskgrain[{extra}]'\n")


def test_parquet_alone_needs_polars(
    taskgrain: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    folder = results_folder.big(tmp_path, ["mpi"], ["fft"])
    for kind in (*export.FORMATS, *dashboards.FORMATS):
        done = taskgrain("export", folder, "--format", kind)
        assert (done.code, "mpi" in done.out) == ((2, False) if kind == "parquet" else (0, True))


EMULATOR = shutil.which("qemu-x86_64")


@pytest.mark.submission
@pytest.mark.skipif(EMULATOR is None, reason="needs qemu-x86_64 (apt-get install qemu-user)")
def test_an_old_processor_is_named_before_polars_ends_the_process() -> None:
    """The processor is of 2008, without AVX."""
    with_core = "from taskgrain.words.extras import needing\nwith needing('export'): import polars"
    command = [EMULATOR, "-cpu", "Nehalem", sys.executable, "-c", with_core]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 1
    assert "UsageError: export needs polars, whose usual build is for processors with AVX2" in done.stderr
    assert "pip install 'polars[rtcompat]'" in done.stderr
