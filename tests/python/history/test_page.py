"""The page of a history: one file that loads nothing and runs nothing."""

import html
import re
from pathlib import Path

import history_store as made
import pytest

from taskgrain.history.page import render


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
