"""What charts with a line for each system share: their looks, and how one system is picked out."""

from __future__ import annotations

import pytest
from drawn_chart import draw
from report_cells import measured, point, results

from taskgrain.report import look
from taskgrain.report.charts import efficiency, lines, rate, swept
from taskgrain.report.look import PAGE, PAPER

CURVE = (point(10, 1e-6, 0.2), point(100, 2e-6, 0.6))
SYSTEMS = ("fast", "middle", "slow")
FULL = results(
    *(
        measured(system, metg * radix, f"nearest/radix={radix}", fields={"radix": radix}, curve=CURVE)
        for system, metg in zip(SYSTEMS, (1e-6, 2e-6, 4e-6), strict=True)
        for radix in (1, 5)
    )
)


@pytest.mark.parametrize("chart", [efficiency, rate, swept], ids=lambda one: one.__name__)
def test_a_system_looks_the_same_in_all_charts(chart: object) -> None:
    figure = next(iter(chart.on_paper(FULL)))  # type: ignore[attr-defined]
    marks = [one for layer in draw(figure).marks["symbol"] for one in layer]
    assert len(marks) == 6
    wished = {(one.colour, one.shape) for one in (look.style(place, PAPER) for place in range(3))}
    assert {(one["fill"], one["shape"]) for one in marks} == wished


def test_the_chosen_system_stands_out() -> None:
    figure = next(iter(efficiency.on_paper(FULL)))
    colour = look.style(SYSTEMS.index("middle"), PAPER).colour
    drawn = draw(figure, chosen="middle")
    for kind in ("line", "symbol"):
        opacities: dict[bool, set[float]] = {True: set(), False: set()}
        for one in (item for layer in drawn.marks[kind] for item in layer):
            opacities[colour in (one.get("fill"), one.get("stroke"))].add(one["opacity"])
        assert min(opacities[True]) > 3 * max(opacities[False])
    (usual,) = {one["opacity"] for layer in draw(figure).marks["line"] for one in layer}
    assert usual == 1


def test_the_page_has_a_legend_of_its_own() -> None:
    colour, shape, _ = lines.looks(FULL, PAGE, None)  # rows bring their look
    assert colour.to_dict()["scale"] is shape.to_dict()["scale"] is None
    assert [*next(iter(efficiency.on_paper(FULL))).key] == ["fast", "middle", "slow"]  # ranked


def test_a_chart_of_the_page_is_as_wide_as_its_element() -> None:
    spec = lines.page_spec(efficiency.chart, FULL)
    assert spec["width"] == "container"
    assert spec["autosize"]["type"] == "fit-x"
