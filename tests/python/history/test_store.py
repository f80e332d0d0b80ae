"""The store: it grows by whole lines, forgives what a kill left, and takes each session once."""

import json
import os
from pathlib import Path

import pytest

from taskgrain.history import store
from taskgrain.history.log import Log
from taskgrain.results.lines import SessionLine
from taskgrain.words.errors import InputError, OutputError, UsageError


def session(label: str, *names: str) -> Log:
    lines = tuple(SessionLine(session=name) for name in names or (label,))
    return Log(label=label, time=5.0, study={}, lines=lines)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "new" / "history.jsonl"
    store.add(found, [session("c0"), session("c1")])
    return found


def test_sessions_are_added_line_by_line(file: Path) -> None:
    before = file.read_bytes()
    added, _ = store.add(file, [session("c2")])
    assert file.read_bytes().startswith(before) and file.read_bytes().count(b"\n") == 3
    assert [one.label for one in added] == ["c2"]
    found = store.read(file)
    assert [one.label for one in found.logs] == ["c0", "c1", "c2"] and found.warnings() == []


def test_a_session_is_added_once(file: Path) -> None:
    before = file.read_bytes()
    added, known = store.add(file, [session("again", "c0")])
    assert (added, [one.label for one in known]) == ([], ["c0"])
    assert file.read_bytes() == before
    added, known = store.add(file, [session("c2"), session("c2")])
    assert (len(added), len(known)) == (1, 1)


def test_a_session_that_comes_twice_counts_once(file: Path) -> None:
    file.write_bytes(2 * file.read_bytes())
    found = store.read(file)
    assert [one.label for one in found.logs] == ["c0", "c1"]
    assert found.warnings() == ["2 sessions once more, skipped"]


def test_a_label_of_another_hand_controls_no_terminal(file: Path) -> None:
    line = {"schema": 1, "kind": "log", "label": "a\x1b[2J", "time": 7.0, "lines": []}
    with file.open("a") as lines:
        lines.write(json.dumps(line) + "\n")
    assert store.read(file).logs[-1].label == "a\ufffd[2J"


def test_a_part_of_a_session_is_refused_and_nothing_is_added(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(UsageError, match="has a part of more already"):
        store.add(file, [session("c2"), session("more", "c0", "c9")])
    assert file.read_bytes() == before


def test_a_torn_last_line_is_skipped_and_set_aside(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"schema": 1, "ki')
    assert store.read(file).warnings() == ["the last line of history.jsonl is torn (17 bytes); it is skipped"]
    store.add(file, [session("c2")])
    assert file.read_bytes().startswith(whole + b'{"schema": 1, "kind"')
    assert [one.label for one in store.read(file).logs] == ["c0", "c1", "c2"]
    assert (file.parent / "history.torn").read_bytes() == b'{"schema": 1, "ki\n'


def test_a_newer_store_is_shown_and_not_written(file: Path) -> None:
    text = file.read_text().replace('"schema": 1', '"schema": 2', 1)
    file.write_text(text)
    assert "line 1 was written by a newer taskgrain" in store.read(file).warnings()[0]
    with pytest.raises(UsageError, match="line 1 was written by a newer taskgrain"):
        store.add(file, [session("c2")])
    assert file.read_text() == text


@pytest.mark.parametrize("content", ["# A page\n\nwords\n", "words", '{"some": "json"}\n'])
def test_another_file_is_no_store_and_stays_as_it_is(tmp_path: Path, content: str) -> None:
    file = tmp_path / "README.md"
    file.write_text(content)
    for call in (lambda: store.read(file), lambda: store.add(file, [session("c0")])):
        with pytest.raises(InputError, match=r"STORE: .*README.md is not allowed"):
            call()
    assert file.read_text() == content


def test_no_file_or_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="STORE"):
        store.read(tmp_path / "nothing")
    with pytest.raises(InputError, match="STORE"):
        store.add(tmp_path, [session("c0")])


def test_an_empty_file_is_a_store_without_sessions(tmp_path: Path) -> None:
    file = tmp_path / "empty"
    file.touch()
    assert store.read(file).logs == ()


def test_a_full_disk_is_told_of(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, raw: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OutputError, match="No space left on device; nothing was added"):
        store.add(file, [session("c2")])


def test_a_session_is_brought_to_the_disk(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    store.add(file, [session("c2")])
    assert len(synced) == 1
