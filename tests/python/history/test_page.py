"""The page of a history, one file that loads nothing and runs nothing; and the chart of a series."""

import html
import re
from pathlib import Path

import history_store as made
import pytest

from taskgrain.estimate.quantities import Quantity
from taskgrain.history.page import render, svg
from taskgrain.history.trends import Trend
from taskgrain.report.look import PAPER


def page(path: Path) -> str:
    return render(made.history(path), "runtime")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = made.grown(tmp_path / "h.jsonl", made.scattered((15, 1.0), (6, 1.2)))
    return made.grown(found, [1e-6, None], "limit")


def test_every_series_has_its_verdict_its_charts_and_its_sessions(path: Path) -> None:
    text = page(path)
    assert "<title>runtime: taskgrain history</title>" in text
    assert text.count("<svg") == 2 and text.count('role="img"') == 2
    assert "Slower: METG is 1.2" in text and "Failed in c1 (2026-05-29): validation." in text
    assert "<summary>21 sessions</summary>" in text and "<summary>2 sessions</summary>" in text
    assert text.count("a new level begins") == 1 and "failed: validation" in text
    rows = re.findall(r'<th scope="row">(\w+)</th>', text)
    assert rows[:2] == ["c20", "c19"] and rows[-2:] == ["c1", "c0"], "the newest session comes first"


def test_it_loads_and_runs_nothing(path: Path) -> None:
    text = page(path)
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    assert "<script" not in text and "http" not in text.replace("http://www.w3.org/", "").replace(
        "http-equiv", ""
    )


def test_texts_of_the_store_are_escaped(path: Path) -> None:
    evil = "<script>alert(1)</script>"
    for what in ('"version": "2.1"', '"label": "c0"', '"error": "validation"'):
        path.write_text(path.read_text().replace(what, f'{what.partition(":")[0]}: "{evil}"'))
    path.write_text(path.read_text().replace('"cell": "limit/stencil_1d', '"cell": "<b>limit/<i>stencil_1d'))
    text = page(path)
    assert text.count(html.escape(evil)) >= 3 and "&lt;b&gt;limit" in text and "&lt;i&gt;stencil_1d" in text
    assert not any(one in text for one in (evil, "<b>limit", "<i>stencil_1d"))


def trend(path: Path, by: Quantity = "metg") -> Trend:
    (one,) = made.history(path, by=by).trends
    return one


def marks(text: str, kind: str) -> list[str]:
    """The groups of marks of a kind, each with what is in it."""
    return [part.partition("</g>")[0] for part in text.split(f'<g class="mark-{kind} role-mark')[1:]]


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    values: list[float | None] = [*made.scattered((15, 1.0), (6, 1.2))]
    values[3], values[9] = 1.8e-6, None
    return made.grown(tmp_path / "h.jsonl", values)


def test_sessions_levels_and_changes_are_drawn(sessions: Path) -> None:
    text = svg(trend(sessions), "metg", 400)
    assert [group.count("<path") for group in marks(text, "symbol")] == [19, 1, 0, 0, 1]
    intervals, levels, changes = (group.count("<line") for group in marks(text, "rule"))
    assert (intervals, levels, changes) == (20, 2, 1)
    assert ">1.2" in text and " ×</text>" in text, "what the change multiplied"
    assert "2026-05-28" in text and "µs" in text


def test_it_is_as_wide_as_asked_and_takes_the_colours_of_the_page(sessions: Path) -> None:
    for width in (340, 760):
        text = svg(trend(sessions), "metg", width)
        assert f'viewBox="0 0 {width} ' in text and "var(--accent)" in text
    assert PAPER.accent in svg(trend(sessions), "metg", 340, PAPER)


def test_a_rate_has_its_unit(sessions: Path) -> None:
    text = svg(trend(sessions, "rate"), "rate", 400)
    assert "tasks/s" in text and "µs" not in text


def test_bounds_and_series_of_one_session_or_none(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", [1e-6, None])
    text = path.read_text().replace('"precise"', '"never_reached"').replace('"metg": 1e-06', '"metg": null')
    path.write_text(text.replace('"high": 1.02e-06, "over', '"high": null, "over'))
    drawn = svg(trend(path), "metg", 400)
    assert [group.count("<path") for group in marks(drawn, "symbol")] == [0, 0, 1, 0, 1]
    assert "<svg" in svg(trend(made.grown(tmp_path / "g.jsonl", [None])), "metg", 400)


def test_a_label_gets_into_no_chart(sessions: Path) -> None:
    sessions.write_text(sessions.read_text().replace('"label": "c15"', '"label": "evil\'"'))
    assert "evil" not in svg(trend(sessions), "metg", 400)
