"""Tests of where the report and its figures are written, and of the errors if they cannot be."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import results_folder
from killable_study import program

from taskgrain.answers import data
from taskgrain.report.figures import save
from taskgrain.report.page import write
from taskgrain.words.errors import OutputError, UsageError


def test_the_page_lies_in_the_folder_or_where_it_is_wished(tmp_path: Path) -> None:
    folder = results_folder.write(tmp_path / "r", [])
    assert write(data.read(folder)) == folder / "report.html"
    assert "No system that you can choose has come to a METG" in (folder / "report.html").read_text("utf-8")
    other = tmp_path / "other.html"
    assert write(data.read(folder), other) == other
    assert other.read_bytes() == (folder / "report.html").read_bytes()


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    folder = results_folder.write(tmp_path / "good", [])
    for target in (tmp_path / "nowhere" / "report.html", tmp_path):
        with pytest.raises(UsageError, match=f"{target}: cannot be written: "):
            write(data.read(folder), target)


def test_nothing_measured_draws_nothing(tmp_path: Path) -> None:
    folder = results_folder.write(tmp_path / "empty", [])
    assert save(data.read(folder), tmp_path / "figures", ["svg"]) == []


def test_a_full_disk_leaves_the_earlier_page_and_figures_whole(
    tmp_path: Path, disk: Callable[[str], Path]
) -> None:
    old, new = (
        data.read(results_folder.big(tmp_path / name, [name, "mpi"], ["fft"])) for name in ("tbb", "starpu")
    )
    out = disk("size=20m")
    page, figures = out / "report.html", out / "figures"
    write(old, page)
    save(old, figures, ["svg"])
    before = {one: one.read_bytes() for one in out.rglob("*") if one.is_file()}
    with (out / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError):
        while filler.write(bytes(65536)):
            pass
    for attempt in (lambda: write(new, page), lambda: save(new, figures, ["svg"])):
        with pytest.raises(OutputError, match="cannot be written: No space left on device"):
            attempt()
    (out / "filler").unlink()
    assert {one: one.read_bytes() for one in out.rglob("*") if one.is_file()} == before


def test_a_limit_on_file_sizes_leaves_no_half_of_a_page(tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path / "study", ["mpi"], ["fft"])
    before = sorted(folder.iterdir())
    done = subprocess.run(
        program(["report", str(folder)]),
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)),
    )
    assert done.returncode == 1
    assert done.stderr == f"taskgrain: {folder}/report.html: cannot be written: File too large (ulimit -f)\n"
    assert sorted(folder.iterdir()) == before
