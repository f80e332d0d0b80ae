"""`taskgrain open`: which file is opened, and what it says where nothing can be opened."""

import webbrowser
from pathlib import Path

import pytest
from command_line import Command


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was asked for."""
    found: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: found.append(address) or True)
    return found


def test_the_report_of_a_folder_or_the_file_itself(
    taskgrain: Command, tmp_path: Path, opened: list[str]
) -> None:
    folder = tmp_path / "my results"
    folder.mkdir()
    report = folder / "report.html"
    report.write_text("<!doctype html>")
    for given in (folder, report):
        result = taskgrain("open", given)
        assert (result.code, result.out, result.err) == (0, f"{report}\n", "")
    assert opened == [report.as_uri()] * 2
    assert opened[0].endswith("/my%20results/report.html")


def test_a_folder_without_a_report_says_how_to_make_it(
    taskgrain: Command, tmp_path: Path, opened: list[str]
) -> None:
    folder = tmp_path / "my results"
    folder.mkdir()
    result = taskgrain("open", folder)
    said = f"{folder}/report.html: there is no report yet; `taskgrain report '{folder}'` makes it"
    assert (result.code, result.out, result.err) == (2, "", f"taskgrain: {said}\n")
    nothing = taskgrain("open", tmp_path / "nothing").refusal()
    assert "nothing is not allowed; allowed: a results folder, or a report" in nothing
    assert opened == []


def test_without_a_browser_it_says_so(
    taskgrain: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    (tmp_path / "report.html").write_text("<!doctype html>")
    result = taskgrain("open", tmp_path)
    assert (result.code, result.out) == (1, "")
    assert "report.html: no browser can be started here" in result.err
