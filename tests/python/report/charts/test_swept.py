"""The chart of METG against a field that was varied: a point for each cell with a METG, else a gap."""

import json
from pathlib import Path

import pytest
import results_folder
from drawn_chart import draw
from report_cells import cell, measured, results
from report_page import opened

from taskgrain.answers.data import Cell
from taskgrain.report.charts import swept
from taskgrain.report.figures import of_chart
from taskgrain.report.look import NOTHING


def of_radix(radix: int, metg: float | None, system: str = "a") -> Cell:
    workload = f"nearest/radix={radix}/width=4"
    fields = {"pattern": "nearest", "radix": radix, "width": 4}
    if metg is None:
        return cell(system, workload, fields=fields, ending="failed")
    return measured(system, metg, workload, fields=fields)


def of_width(width: int, output: int) -> Cell:
    fields = {"pattern": "fft", "width": width, "output_bytes": output}
    return measured("a", 1e-6, f"fft/width={width}/output_bytes={output}", fields=fields)


def test_a_study_of_the_radix_is_drawn(tmp_path: Path) -> None:
    shown = opened(results_folder.of_radices(tmp_path))
    assert "dependences per task (radix)" in shown.text
    assert "swept-0" in json.loads(shown.blocks["charts"])["charts"]
    other = results_folder.big(tmp_path / "other", ["mpi"], ["fft", "dom"])
    assert "METG against what was varied" not in opened(other).text


def test_points_lie_by_radix_and_metg_whatever_the_order_of_the_cells() -> None:
    (figure,) = of_chart(swept, results(of_radix(9, 4e-6), of_radix(1, 1e-6), of_radix(5, 2e-6)))
    drawn = draw(figure)
    (line,) = drawn.marks["line"]
    assert [one["x"] for one in line] == sorted(one["x"] for one in line)
    assert [one["y"] for one in line] == sorted((one["y"] for one in line), reverse=True)
    intervals = {one["x"]: sorted((one["y"], one["y2"])) for one in drawn.layer("rule")}
    for one in drawn.layer("symbol"):
        low, high = intervals[one["x"]]
        assert low < one["y"] < high


def test_a_cell_without_a_metg_is_a_gap() -> None:
    cells = [of_radix(radix, metg) for radix, metg in ((1, 1e-6), (3, None), (5, 2e-6), (9, 3e-6))]
    (figure,) = of_chart(swept, results(*cells))
    drawn = draw(figure)
    assert len(drawn.layer("symbol")) == 3
    (cross,) = next(layer for layer in drawn.marks["symbol"] if layer and layer[0]["shape"] == NOTHING)
    assert cross["y"] == 0 and cross["x"] in {one["x"] for one in drawn.layer("line")}
    assert [one.get("defined", True) for one in drawn.layer("line")] == [True, False, True, True]


def test_a_bound_has_a_pale_mark_and_a_bar_to_the_edge() -> None:
    bound = cell(
        "a",
        "nearest/radix=5/width=4",
        ending="never_reached",
        low=2e-6,
        fields={"pattern": "nearest", "radix": 5, "width": 4},
    )
    (figure,) = of_chart(swept, results(of_radix(1, 1e-6), bound, of_radix(9, 3e-6)))
    drawn = draw(figure)
    marks = sorted(drawn.layer("symbol"), key=lambda one: one["x"])
    assert [one["opacity"] for one in marks] == [1, 0.4, 1]
    bar = next(one for one in drawn.layer("rule") if one["x"] == marks[1]["x"])
    assert sorted((bar["y"], bar["y2"])) == [0, marks[1]["y"]]
    assert [one.get("defined", True) for one in drawn.layer("line")] == [True, False, True]


def test_a_figure_has_the_rows_of_its_group_alone() -> None:
    found = results(
        *(of_radix(1, 1e-6), of_radix(5, 2e-6), of_radix(1, 3e-6, "b"), of_radix(5, 4e-6, "b")),
        measured("a", 1e-6, "fft/width=4"),
    )
    (figure,) = of_chart(swept, found)
    assert figure.name == "dependences nearest/width=4"
    assert [(row["system"], row["at"]) for row in figure.data["rows"]] == [
        ("a", 1), ("a", 5), ("b", 1), ("b", 5),
    ]  # fmt: skip
    assert {"a", "b"} <= set(draw(figure).texts)
    (plot,) = swept.plots(found)
    assert (plot.heading, plot.shows) == ("nearest/width=4, by dependences per task (radix)", "own")
    assert {cell: row["at"] for cell, (row,) in plot.own.items()} == {0: 1, 1: 5, 2: 1, 3: 5}
    assert set(plot.cells) == set(plot.own)


def test_one_radix_draws_nothing() -> None:
    alone = results(of_radix(3, 1e-6), of_radix(3, 2e-6, "b"))
    assert not [*swept.plots(alone)]


def test_a_figure_is_named_after_the_field() -> None:
    figures = of_chart(swept, results(of_width(4, 16), of_width(64, 16)))
    assert [figure.name for figure in figures] == ["width fft/output_bytes=16"]


def test_values_far_apart_lie_on_a_logarithmic_axis() -> None:
    (figure,) = of_chart(swept, results(of_width(4, 16), of_width(64, 16), of_width(1024, 16)))
    places = sorted(one["x"] for one in draw(figure).layer("symbol"))
    assert places[1] - places[0] == pytest.approx(places[2] - places[1])
