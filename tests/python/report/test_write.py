"""Tests of where the report and its figures are written, and of the errors if they cannot be."""

import resource
from pathlib import Path

import pytest
import results_folder

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


def test_where_there_is_no_room_the_earlier_page_and_figures_stay_whole(tmp_path: Path) -> None:
    old, new = (
        data.read(results_folder.big(tmp_path / name, [name, "mpi"], ["fft"])) for name in ("tbb", "starpu")
    )
    page, figures = tmp_path / "report.html", tmp_path / "figures"
    write(old, page)
    save(old, figures, ["svg"])
    before = {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        for attempt in (lambda: write(new, page), lambda: save(new, figures, ["svg"])):
            with pytest.raises(OutputError, match=r"cannot be written: File too large \(ulimit -f\)"):
                attempt()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()} == before
