"""The report's page without a browser: escaping, what it embeds and links, the commands of its cells."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import results_folder
from report_page import Page, opened

from taskgrain.report import data, page
from taskgrain.report.write import write


def test_everything_is_escaped(tmp_path: Path) -> None:
    folder = results_folder.hostile(tmp_path)
    shown = opened(folder)
    scripts = [attributes for tag, attributes in shown.tags if tag == "script"]
    assert [one.get("id") for one in scripts] == ["charts", "data", "answers", "files", "raw", None, None]
    assert not [tag for tag, _ in shown.tags if tag == "img"]
    assert not [
        name
        for _, attributes in shown.tags
        for name in attributes
        if name.startswith("on") or name == "style"
    ]
    assert "{{ 7 * 7 }}" in shown.text
    for block in ("charts", "data"):
        assert "<" not in shown.blocks[block]
        json.loads(shown.blocks[block])
    # Cell, system, workload, command, warning, failures, machine and study: all of it is there, as text.
    assert shown.text.count("onerror=alert(1)") > 20


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    html = write(data.read(results_folder.big(tmp_path))).read_text("utf-8")
    shown = Page(html)
    policy = next(
        one["content"] for tag, one in shown.tags if one.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    links = [one.get("src") or one.get("href") or "" for tag, one in shown.tags if tag not in ("svg", "path")]
    assert not [link for link in links if link and not link.startswith("#")]
    style = next(text for text in shown.blocks.values() if ":root" in text)
    assert not re.search(r"url\(|@import", style)


def test_the_page_of_ten_thousand_runs_is_small(tmp_path: Path) -> None:
    folder = results_folder.big(tmp_path, rounds=7, repeats=3)
    assert sum(len(cell.stored.runs) for cell in data.read(folder).cells) > 10_000
    target = write(data.read(folder))
    assert target.stat().st_size < 3_000_000
    assert len(Page(target.read_text("utf-8")).blocks["raw"]) > 100_000


def test_raw_data_too_large_for_a_page_stay_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = results_folder.big(tmp_path, ["mpi"], ["fft"])
    assert "is too large for this file" not in opened(folder).text
    monkeypatch.setattr(page, "MOST_RAW", 100)
    shown = opened(folder)
    assert "raw" not in shown.blocks or not shown.blocks["raw"]
    assert "is too large for this file" in shown.text


def test_every_cell_has_its_command(tmp_path: Path) -> None:
    shown = opened(results_folder.big(tmp_path, ["mpi", "ray"], ["fft", "dom"]))
    for system in ("mpi", "ray"):
        for pattern in ("fft", "dom"):
            assert f"taskgrain metg --system {system} --pattern {pattern} --width 16" in shown.text


def test_the_memory_of_a_driver_is_shown(tmp_path: Path) -> None:
    shown = opened(results_folder.big(tmp_path, ["mpi"], ["fft"]))
    assert "Memory of a process" in shown.text
    assert "7.1 MiB" in shown.text
