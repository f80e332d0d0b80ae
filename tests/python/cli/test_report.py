"""`taskgrain report`: where the page and the figures go, and what is refused before anything is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import results_folder
from command_line import Command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return results_folder.big(tmp_path / "study", ["mpi"], ["fft"])


def test_the_page_lies_in_the_folder_or_where_you_wish(
    taskgrain: Command, folder: Path, tmp_path: Path
) -> None:
    done = taskgrain("report", folder)
    assert (done.code, done.out) == (0, f"{folder / 'report.html'}\n")
    other = tmp_path / "other.html"
    assert taskgrain("report", folder, "-o", other).out == f"{other}\n"
    assert other.read_text("utf-8") == (folder / "report.html").read_text("utf-8")


def test_figures_are_counted(taskgrain: Command, folder: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures"
    done = taskgrain("report", folder, "--figures", figures, "--format", "svg")
    assert done.code == 0
    assert done.out == f"{folder / 'report.html'}\n{figures}: 3 figures\n"
    assert len([*figures.iterdir()]) == 3


@pytest.mark.slow
def test_json_names_every_file(taskgrain: Command, folder: Path, tmp_path: Path) -> None:
    done = taskgrain("report", folder, "--figures", tmp_path / "figures", "--format", "svg,pdf", "--json")
    assert done.code == 0
    made = json.loads(done.out)
    assert made["report"] == str(folder / "report.html")
    names = {Path(one).name for one in made["figures"]}
    stems = ("metg", "efficiency", "rate")
    assert names == {f"{stem}-fft-width=16.{kind}" for stem in stems for kind in ("svg", "pdf")}
    assert all(Path(one).stat().st_size for one in made["figures"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere",), "DIR: nowhere is not allowed; allowed: a results folder"),
        (("{r}/runs.jsonl",), "allowed: a results folder"),
        (("{tmp}",), "runs.jsonl"),
        (("{r}", "--format", "pdf"), "--format is for figures: give --figures DIR too"),
        (("{r}", "--figures", "{tmp}/f", "--format", "svg,gif"), "gif is not allowed; allowed: svg, png"),
        (("{r}", "--figures", "{tmp}/f", "--format", ","), "--format: , is not allowed"),
        (("{r}", "-o", "{tmp}"), "cannot be written"),
        (("{r}", "-o", "{r}/runs.jsonl"), "allowed: a file that is not the results' own"),
        (("{r}", "-o", "{r}/../study/study.toml"), "allowed: a file that is not the results' own"),
    ],
)  # fmt: skip
def test_refusals_write_nothing(
    taskgrain: Command, folder: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    before = {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}
    refused = taskgrain("report", *(word.format(tmp=tmp_path, r=folder) for word in words))
    assert (refused.code, refused.out) == (2, "")
    assert message in refused.err
    assert {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()} == before


def test_what_is_odd_about_the_folder_is_printed(taskgrain: Command, tmp_path: Path) -> None:
    stray = results_folder.run_line("mpi/fft/width=16")
    folder = results_folder.write(tmp_path / "r", [stray], tail=b"{")
    (folder / "study.toml").unlink()
    done = taskgrain("report", folder)
    assert (done.code, done.out) == (0, f"{folder / 'report.html'}\n")
    assert done.err.splitlines() == [
        f"taskgrain: {folder}: the last line of runs.jsonl is torn (1 bytes); it is skipped",
        f"taskgrain: {folder}: runs.jsonl: lines of unknown cells, left out: mpi/fft/width=16 (1)",
        f"taskgrain: {folder}: study.toml: cannot be read: No such file or directory",
    ]
