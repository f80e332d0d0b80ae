"""The report's plots as figures for papers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import results_folder

from taskgrain.answers import data
from taskgrain.report import figures
from taskgrain.report.charts.chart import BOTH_COLUMNS, ONE_COLUMN
from taskgrain.report.figures import save
from taskgrain.report.page import render
from taskgrain.words.errors import UsageError

SIZES = {".svg": rb'<svg[^>]* width="([\d.]+)pt"', ".pdf": rb"/MediaBox ?\[ ?0 0 ([\d.]+)"}


def test_figures_of_one_cell(tmp_path: Path) -> None:
    drawn = save(
        data.read(results_folder.big(tmp_path / "study", ["mpi"], ["fft"])), tmp_path / "figures", ["svg"]
    )
    assert {one.name for one in drawn} == {
        f"{what}-fft-width=16.svg" for what in ("metg", "efficiency", "rate")
    }
    for one in drawn:
        assert ">mpi</text>" in one.read_text("utf-8")


def test_what_is_simulated_is_marked_in_each_view(tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path / "study", ["mpi"], ["fft"])
    results_folder.change(folder, {"simulated": True}, kind=["cell"])
    found = data.read(folder)
    assert found.title.startswith("Simulated: ")
    (cell,) = found.cells
    assert (cell.called, cell.to_json(0.5)["simulated"]) == ("mpi (simulated)", True)
    assert "simulated fft" in render(found, {})
    drawn = save(found, tmp_path / "figures", ["svg"])
    assert {one.name for one in drawn} == {
        f"simulated-{what}-fft-width=16.svg" for what in ("metg", "efficiency", "rate")
    }
    for one in drawn:
        assert ">simulated</text>" in one.read_text("utf-8")


@pytest.mark.parametrize(
    "suffix",
    [pytest.param(".pdf", marks=pytest.mark.slow)]
    + [pytest.param(one, marks=pytest.mark.deep) for one in (".svg", ".png")],
)
def test_figures_fit_their_columns(tmp_path: Path, suffix: str) -> None:
    drawn = save(
        data.read(results_folder.of_radices(tmp_path / "study", (1, 5))),
        tmp_path / "new" / "folder",
        [suffix[1:]],
    )
    names = [one.name for one in drawn]
    assert f"metg{suffix}" in names
    assert f"metg-nearest-radix=5-width=16{suffix}" in names
    assert f"efficiency-stencil_1d-width=16{suffix}" in names
    assert f"rate-stencil_1d-width=16{suffix}" in names
    assert f"dependences-nearest-width=16{suffix}" in names
    for one in drawn:
        content = one.read_bytes()
        wished = BOTH_COLUMNS if one.stem == "metg" else ONE_COLUMN
        if suffix == ".png":
            assert content.startswith(b"\x89PNG")
            width = int.from_bytes(content[16:20], "big") * 72 / figures.PIXELS
        else:
            found = re.search(SIZES[suffix], content)
            assert found is not None
            width = float(found[1])
        assert wished - 4 <= width <= wished + 1, one.name


@pytest.mark.submission
def test_figures_name_what_they_show(tmp_path: Path) -> None:
    save(data.read(results_folder.of_radices(tmp_path / "study", (1, 9))), tmp_path / "figures", ["svg"])
    for name, texts in {
        "metg": ("mpi", "limit", "nearest/radix=9/width=16", "30.0 ns", "METG (tick: floor)"),
        "efficiency-stencil_1d-width=16": ("mpi", "limit", "task granularity", "efficiency", "50 %"),
        "rate-stencil_1d-width=16": ("mpi", "limit", "problem size: iterations per task", "FLOP/s per core"),
        "dependences-nearest-width=16": ("mpi", "limit", "dependences per task (radix)", "METG"),
    }.items():
        svg = (tmp_path / "figures" / f"{name}.svg").read_text("utf-8")
        for text in texts:
            assert f">{text}</text>" in svg, (name, text)
    svg = (tmp_path / "figures" / "metg.svg").read_text("utf-8")
    assert svg.count(">limit</text>") == 1  # the panels of a row share their names


@pytest.mark.submission
def test_figures_of_hostile_results_stay_in_their_folder(tmp_path: Path) -> None:
    folder = results_folder.hostile(tmp_path / "study")
    drawn = save(data.read(folder), tmp_path / "figures", ["svg", "svg"])
    assert len(drawn) == len(set(drawn)) > 2
    assert {one.parent for one in drawn} == {tmp_path / "figures"}
    assert not [one for one in drawn if "<script" in one.read_text("utf-8")]


def test_figures_refuse_a_folder_that_is_a_file(tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path, ["mpi"], ["fft"])
    with pytest.raises(UsageError, match="cannot be written"):
        save(data.read(folder), folder / "runs.jsonl", ["svg"])
