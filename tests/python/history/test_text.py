"""Tests of a history in words."""

from pathlib import Path

import history_store as made
import pytest

from taskgrain.answers.compare.cells import Question
from taskgrain.history import text
from taskgrain.history.trends import History, analyse
from taskgrain.words.interval import Interval


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    path: Path = made.grown(tmp_path_factory.mktemp("h") / "h.jsonl", made.scattered((18, 1.0), (8, 1.2)))
    made.grown(path, [*made.scattered((20, 1.0)), None], "limit")
    made.grown(path, made.scattered((20, 1.0)), "openmp_for")
    made.grown(path, [1e-6], machine="ffff0000")
    return made.history(path)


def test_each_verdict_says_what_it_rests_on(history: History) -> None:
    said = {one.series.system: text.why(one, history) for one in reversed(history.trends)}
    assert said["mpi"].startswith("slower: METG is 1.2")
    assert said["mpi"].endswith("large since c18 (2026-06-15); the session before was c17 (2026-06-14)")
    assert said["limit"] == "failed in c20 (2026-06-17): validation"
    assert said["openmp_for"] == "no change of METG in 20 sessions"
    assert text.why(history.trends[1], history) == "1 session of the 13 that a change needs"


def test_a_clock_that_moved_is_said(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((14, 1.0)), clocks=[1.0] * 7 + [0.8] * 7)
    found = made.history(path)
    assert text.why(found.trends[0], found) == "no change of METG in 14 sessions; the clock moved by 25 %"
    assert text.summary(found)[1:] == [
        "The clock moved: the kernel alone did up to 25 % more in one session than in another. Sessions are "
        "compared at one clock, that of a typical one."
    ]


def test_the_sentences_above_all(history: History) -> None:
    assert text.summary(history) == [
        "4 series by METG: 1 failed, 1 slower, 1 no change, 1 too few sessions. The margin is 5 %.",
        "All intervals of the newest changes hold at once with 95 % (each with 98.75 %).",
    ]
    assert text.summary(analyse([], Question())) == ["No session has such a cell."]


def test_a_series_apart_says_why(history: History) -> None:
    titles = [text.title(one.series) for one in history.trends]
    assert titles[0] == "stencil_1d/width=4"
    assert titles[1] == "stencil_1d/width=4, other machine (other caches, cores or memory)"


def test_a_label_that_is_a_date_is_not_said_twice(history: History) -> None:
    entry = history.trends[0].series.entries[0]
    assert text.session(entry) == "c0 (2026-05-28)"
    object.__setattr__(entry.log, "label", "2026-05-28 20:26")
    assert text.session(entry) == "2026-05-28 20:26"
    object.__setattr__(entry.log, "label", "c0")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (Interval(1e-6, 0.9e-6, 1.1e-6), "1.00 µs (0.90 – 1.10)"),
        (Interval(None, 3e-3, None), "above 3.00 ms"),
        (Interval(None, None, 3e-3), "below 3.00 ms"),
        (Interval(None, 1e-3, 3e-3), "above 1.00 ms and below 3.00 ms"),
        (Interval(), "–"),
        (None, "–"),
    ],
)
def test_what_a_session_says(number: Interval | None, said: str) -> None:
    assert text.measured(number, "metg") == said


def test_a_rate_is_in_tasks_a_second() -> None:
    assert text.measured(Interval(2e6, 1.9e6, 2.1e6), "rate") == "2.00 Mtask/s"
