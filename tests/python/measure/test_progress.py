"""Tests of the progress that a person who waits sees."""

from io import StringIO

import pytest
from rich.console import Console

from taskgrain.measure.progress import Bar, Lines, Progress, Reporter

LONG = "taskgrain_graph.stealing/nearest/width=16/radix=5/graphs=4"


def shown(make: type[Reporter], progress: Progress, width: int = 80) -> str:
    text = StringIO()
    reporter = make(Console(file=text, force_terminal=make is Bar, width=width))  # type: ignore[call-arg]
    reporter.show(progress)
    reporter.close()
    return text.getvalue()


@pytest.mark.parametrize("make", [Bar, Lines])
def test_how_far_it_is_and_how_long_to_go(make: type[Reporter]) -> None:
    text = shown(make, Progress(3, 128, 600.0, 1800.0, "mpi/fft"))
    assert "25%, 3 of 128 cells, about 30 min 0 s left: mpi/fft" in text


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_long_name_leaves_room_for_the_bar(width: int) -> None:
    text = shown(Bar, Progress(0, 128, 600.0, 600.0, LONG), width)
    assert "━" in text
    assert "50%, 0 of 128" in text


@pytest.mark.parametrize(("taken", "left"), [(0.0, 0.0), (10.0, 0.0), (10.0, -1.0)])
def test_nothing_left_is_all(taken: float, left: float) -> None:
    assert Progress(1, 1, taken, left, "").share == 1.0


def test_it_is_not_all_while_cells_are_not_done() -> None:
    assert str(Progress(0, 2, 600.0, 0.1, "mpi/fft")).startswith(" 99%, 0 of 2 cells")


def test_what_was_shown_is_never_taken_back() -> None:
    known = Progress(1, 4, 10.0, 30.0, "mpi/fft", least=0.5)
    assert known.share == 0.5
    assert str(Progress(0, 4, 1.0, None, "mpi/fft")) == "  0%, 0 of 4 cells: mpi/fft"
    assert "25%, 1 of 4 cells, at most 30 s left" in str(Progress(1, 4, 10.0, 30.0, "mpi/fft", at_most=True))
