"""The chart of METG against the radix: a point for each cell with a METG, a gap for the others."""

from __future__ import annotations

import json
from pathlib import Path

import results_folder
from drawn_chart import draw
from report_cells import cell, measured, results
from report_page import opened

from taskgrain.report.cells import Cell
from taskgrain.report.charts import dependences


def of_radix(radix: int, metg: float | None, system: str = "a") -> Cell:
    workload = f"nearest/radix={radix}/width=4"
    if metg is None:
        return cell(system, workload, radix=radix, ending="failed")
    return measured(system, metg, workload, radix=radix)


def test_a_study_of_the_radix_is_drawn(tmp_path: Path) -> None:
    shown = opened(results_folder.of_radices(tmp_path))
    assert "METG against dependences per task" in shown.text
    assert "dependences-0" in json.loads(shown.blocks["charts"])["charts"]
    other = results_folder.big(tmp_path / "other", ["mpi"], ["fft", "dom"])
    assert "METG against dependences per task" not in opened(other).text


def test_points_lie_by_radix_and_metg_whatever_the_order_of_the_cells() -> None:
    (figure,) = dependences.on_paper(results(of_radix(9, 4e-6), of_radix(1, 1e-6), of_radix(5, 2e-6)))
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
    (figure,) = dependences.on_paper(results(*cells))
    drawn = draw(figure)
    assert len(drawn.layer("symbol")) == 3
    assert [one.get("defined", True) for one in drawn.layer("line")] == [True, False, True, True]


def test_a_figure_has_the_rows_of_its_group_alone() -> None:
    found = results(
        *(of_radix(1, 1e-6), of_radix(5, 2e-6), of_radix(1, 3e-6, "b"), of_radix(5, 4e-6, "b")),
        measured("a", 1e-6, "fft/width=4"),
    )
    (figure,) = dependences.on_paper(found)
    assert figure.name == "dependences nearest/width=4"
    assert [(row["system"], row["radix"]) for row in figure.data["rows"]] == [
        ("a", 1), ("a", 5), ("b", 1), ("b", 5),
    ]  # fmt: skip
    assert {"a", "b"} <= set(draw(figure).texts)
    (plot,) = dependences.on_page(found)
    assert plot.of == ("nearest/radix=1/width=4", "nearest/radix=5/width=4")
    assert plot.heading in plot.label


def test_one_radix_draws_nothing() -> None:
    alone = results(of_radix(3, 1e-6), of_radix(3, 2e-6, "b"))
    assert [*dependences.on_page(alone)] == [*dependences.on_paper(alone)] == []
