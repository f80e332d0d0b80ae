"""Tests of the places where names and numbers go on in a new line: never inside of a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.words.breaks import NAME, NUMBER, folded, parts


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("mpi/fft/width=16", 16, ["mpi/fft/width=16"]),
        ("mpi/fft/width=16", 9, ["mpi/fft/", "width=16"]),
        ("nearest/radix=0.25", 8, ["nearest/", "radix=", "0.25"]),
        ("taskgrain_graph.ready_queue", 16, ["taskgrain_graph.", "ready_queue"]),
        ("a title of words", 8, ["a title", "of words"]),
        ("  mpi.ranks", 8, ["  mpi.", "ranks"]),
        ("longerthanthis/x", 4, ["longerthanthis/", "x"]),
    ],
)
def test_names_break_at_the_best_places(text: str, room: int, lines: list[str]) -> None:
    assert folded(text, room, NAME).split("\n") == lines


def test_numbers_break_at_the_best_places() -> None:
    number = "0.41 µs (0.39 – 0.44)"
    assert folded(number, 14, NUMBER).split("\n") == ["0.41 µs", "(0.39 – 0.44)"]
    assert folded(number, 8, NUMBER[:2]).split("\n") == ["0.41 µs", "(0.39 – 0.44)"], (
        "a number keeps its unit"
    )
    assert folded("? 13 000 ×, 1.65 ms", 8, NUMBER[:2]).split("\n") == ["? 13 000 ×,", "1.65 ms"]
    assert folded(number, 8, NUMBER).split("\n") == ["0.41 µs", "(0.39 –", "0.44)"]
    assert folded("not comparable", 8, NUMBER).split("\n") == ["not", "comparable"]


@given(st.text("ab1 /._=+@(–", max_size=40), st.integers(1, 40), st.sampled_from([NAME, NUMBER]))
def test_nothing_is_lost_and_only_what_has_no_place_is_too_long(
    text: str, room: int, places: tuple[str, ...]
) -> None:
    lines = folded(text, room, places).split("\n")
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(
        len(line) <= room or line.rstrip() in [part.rstrip() for part in parts(text, places)]
        for line in lines
    )
