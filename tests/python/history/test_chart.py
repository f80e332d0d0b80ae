"""The chart of a series: every session, level and change is in it, and nothing of the results' texts."""

from pathlib import Path

import history_store as made
import pytest

from taskgrain.estimate.quantities import Quantity
from taskgrain.history.page import svg
from taskgrain.history.trends import Trend
from taskgrain.report.look import PAPER


def trend(path: Path, by: Quantity = "metg") -> Trend:
    (one,) = made.history(path, by=by).trends
    return one


def marks(text: str, kind: str) -> list[str]:
    """The groups of marks of a kind, each with what is in it."""
    return [part.partition("</g>")[0] for part in text.split(f'<g class="mark-{kind} role-mark')[1:]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    values: list[float | None] = [*made.scattered((15, 1.0), (6, 1.2))]
    values[3], values[9] = 1.8e-6, None
    return made.grown(tmp_path / "h.jsonl", values)


def test_sessions_levels_and_changes_are_drawn(path: Path) -> None:
    text = svg(trend(path), "metg", 400)
    assert [group.count("<path") for group in marks(text, "symbol")] == [19, 1, 0, 0, 1]
    intervals, levels, changes = (group.count("<line") for group in marks(text, "rule"))
    assert (intervals, levels, changes) == (20, 2, 1)
    assert ">1.2" in text and " ×</text>" in text, "what the change multiplied"
    assert "2026-05-28" in text and "µs" in text


def test_it_is_as_wide_as_asked_and_takes_the_colours_of_the_page(path: Path) -> None:
    for width in (340, 760):
        text = svg(trend(path), "metg", width)
        assert f'viewBox="0 0 {width} ' in text and "var(--accent)" in text
    assert PAPER.accent in svg(trend(path), "metg", 340, PAPER)


def test_a_rate_has_its_unit(path: Path) -> None:
    text = svg(trend(path, "rate"), "rate", 400)
    assert "tasks/s" in text and "µs" not in text


def test_bounds_and_series_of_one_session_or_none(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", [1e-6, None])
    text = path.read_text().replace('"precise"', '"never_reached"').replace('"metg": 1e-06', '"metg": null')
    path.write_text(text.replace('"high": 1.02e-06, "over', '"high": null, "over'))
    drawn = svg(trend(path), "metg", 400)
    assert [group.count("<path") for group in marks(drawn, "symbol")] == [0, 0, 1, 0, 1]
    assert "<svg" in svg(trend(made.grown(tmp_path / "g.jsonl", [None])), "metg", 400)


def test_a_label_gets_into_no_chart(path: Path) -> None:
    path.write_text(path.read_text().replace('"label": "c15"', '"label": "evil\'"'))
    assert "evil" not in svg(trend(path), "metg", 400)
