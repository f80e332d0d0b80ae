"""A comparison in a terminal: what fits, what is named, and the document for programs."""

import json
import math
from dataclasses import replace

import pytest
from command_line import on_terminal
from compared_cells import LONG, cell, comparison

from taskgrain.answers.compare.cells import Comparison, Question
from taskgrain.cli.compare_table import as_json, labels, show
from taskgrain.estimate.sessions import Scatter


def printed(found: Comparison, width: int = 80) -> str:
    return on_terminal(lambda terminal: show(terminal, found), width)


def test_eighty_columns_are_enough() -> None:
    text = printed(comparison(cell(), LONG))
    assert max(map(len, text.splitlines()[2:])) <= 80
    assert "1.23 (1.11 – 1.37)" in text and "(1.28 – 1.34)" in text
    (row,) = [line for line in text.splitlines() if "mpi/stencil_1d/width=16" in line]
    assert row.split()[-1] == "slower"
    assert "taskgrain_graph/nearest/" in text, "a long name goes on behind a slash"


def test_a_wide_terminal_shows_one_table() -> None:
    text = printed(comparison(cell(), LONG), 160)
    (row,) = [line for line in text.splitlines() if "mpi/stencil_1d/width=16" in line]
    assert row.count("(") == 4


def test_the_deciding_ratio_stands_first() -> None:
    text = printed(Comparison(Question("floor"), 0.95, (cell(),), ()), 160)
    (head,) = [line.split() for line in text.splitlines() if "verdict" in line]
    assert head == ["floor", "verdict", "METG", "rate", "efficiency"]


def test_a_reason_is_given_once_for_all_its_cells() -> None:
    cells = [
        replace(cell(f"s{number}", verdict="not comparable"), why="other machine", ratios={})
        for number in range(5)
    ]
    text = printed(comparison(*cells), 200)
    assert "Not comparable: other machine: s0/stencil_1d/width=16" in text
    assert "s2/stencil_1d/width=16 and 2 others." in text
    assert "against" not in text, "no table without a ratio"


def test_notes_follow() -> None:
    between = Scatter(0.03**2, 1e-4, 3, 3)
    cells = [replace(cell(), between=between, notes=("b uses 1 of the cores, a 2",))] * 2
    text = printed(replace(comparison(*cells), unmatched=(("old", 2),)), 200)
    assert text.count("Note: b uses 1 of the cores, a 2.") == 1
    assert "old has 2 cells that the other side lacks." in text
    assert "scatter by 3.0 % (standard deviation), known with 3 degrees of freedom" in text


def test_a_scatter_that_is_not_known_is_left_out() -> None:
    found = comparison(replace(cell(), between=Scatter(math.inf, math.inf, 3, 3)))
    assert "scatter" not in printed(found, 200)
    (one,) = json.loads(json.dumps(as_json(found), allow_nan=False))["cells"]
    assert one["scatter"] == {"deviation": None, "freedom": 3, "measured": 3}


def test_names_leave_out_what_is_the_same() -> None:
    assert labels([cell(), cell(workload="fft")]) == ["stencil_1d/width=16", "fft"]
    assert labels([cell(), cell("limit")]) == ["mpi/stencil_1d/width=16", "limit/stencil_1d/width=16"]
    assert labels([cell()]) == ["mpi/stencil_1d/width=16"]


def test_the_document_has_all_of_it() -> None:
    between = Scatter(0.03**2, 1e-4, 3, 3)
    found = json.loads(
        json.dumps(
            as_json(comparison(replace(cell(), between=between, iterations=90), LONG)), allow_nan=False
        )
    )
    assert found["confidence"] == 0.95 and found["interval_confidence"] == 0.975
    assert found["regressions"] == 1
    first, second = found["cells"]
    assert first["scatter"] == {"deviation": pytest.approx(0.03), "freedom": 3, "measured": 3}
    assert second["scatter"] is None and second["clock"] is None
    assert first["ratios"]["floor"] == {"value": 1.31, "low": 1.28, "high": 1.345, "rounds": 4}
    assert (first["why"], first["sessions"], first["iterations"]) == (None, [1, 1], 90)
