"""The chart of time to solution against cores: lines, the limit, and where they meet."""

import pytest
from drawn_chart import draw
from report_cells import measured, point, results

from taskgrain.answers.data import Results
from taskgrain.report.charts import scaling
from taskgrain.report.figures import of_chart
from taskgrain.words.quantity import NOTHING


def study(kind: str = "strong", system: str = "a", field: str = "cores") -> Results:
    """Three sizes on one and two cores: 12, 3 and 1 times METG a task."""
    cells = []
    for cores in (1, 2):
        less = cores if kind == "strong" else 1
        sizes = ((256, 24e-6), (64, 6e-6), (16, 2.5e-6))
        curve = tuple(point(n / less, (g - 1e-6) / less + 1e-6, 0.5) for n, g in reversed(sizes))
        fields = {"pattern": "fft", "width": 4 * cores, "cores": 1, field: cores}
        workload = f"fft/width={4 * cores}/{field}={cores}"
        cells.append(measured(system, 2e-6, workload, fields=fields, cores=cores, curve=curve))
    return results(*cells, experiment=kind)


@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_a_line_for_each_size_and_the_limit(kind: str) -> None:
    (figure,) = of_chart(scaling, study(kind))
    assert figure.name == f"{kind} a fft/tasks_per_core=4"
    drawn = draw(figure)
    lines = [line for line in drawn.marks["line"] if line]
    assert len(lines) == 4 and all(len(line) == 2 for line in lines)
    falls = {round(line[1]["y"] - line[0]["y"]) for line in lines}
    assert (len(falls) == 1) == (kind == "weak"), "all level; else the time falls but for the limit"
    assert {"1", "2", "cores", "time of 1000 steps"} <= set(drawn.texts)


def test_marks_stand_where_the_limit_is_met() -> None:
    figures = {kind: next(iter(of_chart(scaling, study(kind)))) for kind in ("weak", "strong")}
    kinds = {kind: [row["kind"] for row in one.data["rows"]] for kind, one in figures.items()}
    assert "ideal" not in kinds["weak"]
    (circle,) = [row for row in figures["strong"].data["rows"] if row["kind"] == "ideal"]
    assert circle["at"] == pytest.approx(1.25, rel=1e-4), "2.5 µs a task over a METG of 2 µs"


def test_a_panel_of_the_page_has_rows_by_cell() -> None:
    (plot,) = scaling.plots(study())
    assert plot.cells == (0, 1) and plot.own.keys() == {0, 1}
    assert {row["cell"] for row in plot.own[1]} == {1}
    times = [row for rows in plot.own.values() for row in rows if row["kind"] == "time"]
    assert len(times) == 6 and NOTHING not in {row["reached"] for row in times}


def test_names_are_escaped_in_the_table() -> None:
    found = str(scaling.SECTION.intro(study(system="<b>")))
    assert "&lt;b&gt;" in found and "<b>" not in found
    assert "strong scaling" in found and "1.25 cores" in found


def test_over_nodes_the_axis_and_the_words_are_of_nodes() -> None:
    found = study(field="nodes")
    (figure,) = of_chart(scaling, found)
    assert figure.name == "strong a fft/tasks_per_core=4 over nodes"
    assert {"1", "2", "nodes"} <= set(draw(figure).texts)
    assert "on more nodes" in str(scaling.SECTION.intro(found))
