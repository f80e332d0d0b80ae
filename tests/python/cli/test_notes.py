"""Tests of notes on standard error: they break between words on a terminal, and are one line elsewhere."""

import pytest

from taskgrain.cli.notes import note


@pytest.mark.parametrize(
    ("terminal", "shown"),
    [
        (True, "taskgrain: a/b: `make setup`\ndoes more\n"),
        (False, "taskgrain: a/b: `make setup` does more\n"),
    ],
)
def test_a_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool, shown: str
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    note("a/b: `make setup` does more")
    assert capsys.readouterr().err == shown
