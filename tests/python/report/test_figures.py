"""The report's plots as figures for papers, and the names below them, each with the look of its line."""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import results_folder
from drawn_chart import draw
from report_cells import measured, point, results

from taskgrain.answers import data
from taskgrain.report import figures
from taskgrain.report.charts import efficiency
from taskgrain.report.charts.chart import BOTH_COLUMNS, ONE_COLUMN, Figure
from taskgrain.report.figures import of_chart, save
from taskgrain.report.page import render
from taskgrain.words.errors import UsageError

CURVE = (point(10, 1e-6, 0.2), point(100, 2e-6, 0.6))
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


def of(systems: Sequence[str]) -> Figure:
    cells = (measured(system, 1e-6 * place, curve=CURVE) for place, system in enumerate(systems, 1))
    (figure,) = of_chart(efficiency, results(*cells))
    return figure


@pytest.mark.parametrize("count", [1, 12, 50, 100])
def test_every_line_has_a_name_and_a_look_of_its_own(count: int) -> None:
    systems = [f"system_{number}" for number in range(count)]
    figure = of(systems)
    assert figure.width == (ONE_COLUMN if count <= 12 else BOTH_COLUMNS)
    drawn = draw(figure, 190 if count <= 12 else 450)
    assert [one["text"] for one in drawn.key["text"]] == systems
    assert len({(one["x"], one["y"]) for one in drawn.key["text"]}) == count
    looks = [
        (line["stroke"], *line["strokeDash"], mark["shape"])
        for line, mark in zip(drawn.key["rule"], drawn.key["symbol"], strict=True)
    ]
    lines = [(line[0]["stroke"], *line[0]["strokeDash"]) for line in drawn.marks["line"]]
    assert len(set(looks)) == count
    assert sorted(lines) == sorted(look[:-1] for look in looks)


def test_names_stand_in_columns_that_do_not_touch() -> None:
    name = "taskgrain_graph.variant_{}"
    drawn = draw(of([name.format(10 + number) for number in range(40)]), 450)
    starts = sorted({one["x"] for one in drawn.key["text"]})
    assert len(starts) == 3
    assert all(b - a > 4 * len(name) for a, b in itertools.pairwise([*starts, 450]))


def test_a_long_name_takes_both_columns() -> None:
    assert of(["mpi+OMP_NUM_THREADS=2+STARPU_SCHED=dm+UCX_TLS=sm_self_tcp"]).width == BOTH_COLUMNS
