"""Tests of changes in series: verdicts, regressions, and known changes."""

from dataclasses import replace
from pathlib import Path

import history_store as made
import pytest
from history_store import history

from taskgrain.answers.compare.cells import Question
from taskgrain.estimate.quantities import Quantity
from taskgrain.history import store
from taskgrain.history.series import series
from taskgrain.history.trends import History, Trend, analyse, verdicts
from taskgrain.results.lines import Line, MetgLine
from taskgrain.words.endings import Ending


def only(found: History) -> Trend:
    (one,) = found.trends
    return one


def test_a_slower_level_is_a_regression(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((15, 1.0), (6, 1.2)))
    one = only(history(path))
    assert (one.verdict, one.regression) == ("slower", True)
    (change,) = one.changes
    assert (change.before.log.label, change.after.log.label) == ("c14", "c15")
    assert change.ratio.known and change.ratio.contains(1.2)
    (first, second) = one.levels
    assert first[:2] == (0, 14) and second[:2] == (15, 20)
    assert first[2] == pytest.approx(1e-6, rel=0.03) and second[2] == pytest.approx(1.2e-6, rel=0.03)
    assert one.scatter == pytest.approx(0.03, rel=0.5)


@pytest.mark.parametrize("by", ["metg", "overhead", "floor", "rate"])
def test_sessions_are_compared_at_one_clock(tmp_path: Path, by: Quantity) -> None:
    clocks = [1.0] * 15 + [0.8] * 6
    still = made.grown(tmp_path / "still.jsonl", made.scattered((21, 1.0)), clocks=clocks)
    assert only(history(still, by=by)).verdict == "no change", "the sessions differ in the clock alone"
    moved = made.grown(tmp_path / "moved.jsonl", made.scattered((15, 1.0), (6, 1.2)), clocks=clocks)
    (change,) = only(history(moved, by=by)).changes
    assert change.decision == "slower" and change.ratio.value is not None
    assert change.ratio.value == pytest.approx(1 / 1.2 if by == "rate" else 1.2, rel=0.05)


@pytest.mark.parametrize(
    ("hosts", "named"),
    [
        (["a"] * 15 + ["b"] * 6, "a → b"),
        (["a"] * 14 + ["b"] * 7, "a → b"),
        ([f"n{number}" for number in range(21)], "n0 → n15"),
        (["a", "b", "c"] * 7, ""),
        (["a"] * 21, ""),
        (["a"] * 12 + ["b"] * 3 + ["a"] * 6, ""),
    ],
)
def test_a_change_that_comes_with_another_host_is_judged_only_if_the_user_says_so(
    hosts: list[str], named: str, tmp_path: Path
) -> None:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((15, 1.0), (6, 1.4)), on=hosts)
    one, across = only(history(path)), only(history(path, across_hosts=True))
    assert [each.changes[-1].hosts for each in (one, across)] == [named, named]
    assert (across.verdict, across.regression) == ("slower", True)
    assert (one.verdict, one.regression) == (("other host", False) if named else ("slower", True))
    assert one.changes[-1].ratio == across.changes[-1].ratio, "it is seen all the same"


def test_other_verdicts_are_no_regressions(tmp_path: Path) -> None:
    faster = made.grown(tmp_path / "faster.jsonl", made.scattered((15, 1.0), (6, 0.8)))
    still = made.grown(tmp_path / "still.jsonl", made.scattered((20, 1.0)))
    short = made.grown(tmp_path / "short.jsonl", made.scattered((4, 1.0)))
    for path, verdict in ((faster, "faster"), (still, "no change"), (short, "too few sessions")):
        one = only(history(path))
        assert (one.verdict, one.regression) == (verdict, False)


def test_the_margin_says_what_matters(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((15, 1.0), (6, 1.2)))
    assert only(history(path, margin=0.3)).verdict == "same"
    assert only(history(path, margin=0.2)).verdict == "undecided"


def test_small_steps_are_a_regression_together(tmp_path: Path) -> None:
    """Each is near the margin; all of them are far beyond it."""
    steps = [(12, 1.06**k) for k in range(5)]
    one = only(history(made.grown(tmp_path / "h.jsonl", made.scattered(*steps, scatter=0.01))))
    assert len(one.changes) > 1 and one.verdict in ("undecided", "same", "slower")
    assert one.over_all and one.over_all.decision == "slower" and one.regression
    assert one.over_all.ratio.contains(1.06**4) and one.over_all.before.log.label == "c11"


def test_a_failure_is_a_regression_until_it_is_mended(tmp_path: Path) -> None:
    values = [*made.scattered((14, 1.0)), None]
    one = only(history(made.grown(tmp_path / "h.jsonl", values)))
    assert (one.verdict, one.regression) == ("failed", True)
    assert only(history(made.grown(tmp_path / "g.jsonl", [*values, 1e-6]))).verdict == "no change"


def test_sessions_that_say_nothing_keep_their_place(tmp_path: Path) -> None:
    values: list[float | None] = [*made.scattered((15, 1.0), (6, 1.2))]
    values[3] = values[16] = None
    one = only(history(made.grown(tmp_path / "h.jsonl", values)))
    assert one.changes[0].after.log.label == "c15" and one.numbers[3] is None
    assert [level[:2] for level in one.levels] == [(0, 14), (15, 20)]


def test_more_series_need_more_sessions_and_wider_intervals(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((15, 1.0), (6, 1.2)))
    alone = history(path)
    for number in range(9):
        made.grown(path, made.scattered((3, 1.0)), f"s{number}")
    among = history(path)
    assert (alone.confidence, among.confidence) == (0.95, pytest.approx(0.995))
    assert among.enough > alone.enough
    assert verdicts(among) == {"slower": 1, "too few sessions": 9}
    first, second = (each.trends[0].changes[0].ratio for each in (alone, among))
    assert second.factor > first.factor


def without_interval(line: Line) -> Line:
    bare = {"metg": 1e-6, "low": None, "high": None, "ending": Ending.BUDGET}
    return replace(line, **bare) if isinstance(line, MetgLine) else line


def test_sessions_without_intervals_show_no_scatter(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((15, 1.0)))
    logs = [replace(one, lines=tuple(map(without_interval, one.lines))) for one in store.read(path).logs]
    (one,) = analyse(series(logs), Question()).trends
    assert (one.verdict, one.scatter) == ("no change", None)


def test_a_change_of_host_is_undecided_until_it_is_known(tmp_path: Path) -> None:
    hosts = ["a"] * 15 + ["b"] * 6
    path = made.grown(tmp_path / "h.jsonl", made.scattered((15, 1.0), (6, 1.4)), on=hosts)
    at = made.BEGIN + 15 * made.DAY
    assert only(history(path)).undecided and not only(history(path, known=at)).undecided


def test_a_later_change_hides_no_change_of_host(tmp_path: Path) -> None:
    """Half of what came with the host was taken back on the new host."""
    hosts = ["a"] * 15 + ["b"] * 30
    path = made.grown(tmp_path / "h.jsonl", made.scattered((15, 1.0), (15, 2.0), (15, 1.5)), on=hosts)
    one = only(history(path))
    assert one.verdict == "faster" and one.over_all is not None and one.over_all.decision == "other host"
    assert one.undecided and not one.regression
