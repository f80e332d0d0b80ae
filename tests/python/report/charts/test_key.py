"""The names below a figure: all of them, each with the look that its line has."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from drawn_chart import draw
from report_cells import measured, point, results

from taskgrain.report.charts import efficiency
from taskgrain.report.charts.chart import BOTH_COLUMNS, ONE_COLUMN, Figure

CURVE = (point(10, 1e-6, 0.2), point(100, 2e-6, 0.6))


def of(systems: Sequence[str]) -> Figure:
    cells = (measured(system, 1e-6 * place, curve=CURVE) for place, system in enumerate(systems, 1))
    (figure,) = efficiency.on_paper(results(*cells))
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
