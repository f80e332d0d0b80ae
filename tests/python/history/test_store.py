"""The store: it grows by whole lines, forgives what a kill left, and takes each session once."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

import history_store as made
import pytest

from taskgrain.history import store
from taskgrain.history.log import Log
from taskgrain.results.lines import SessionLine
from taskgrain.words.errors import InputError, OutputError, UsageError


def session(label: str, *names: str) -> Log:
    lines = tuple(SessionLine(session=name) for name in names or (label,))
    return Log(label=label, time=5.0, machine={}, study={}, lines=lines)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "new" / "history.jsonl"
    store.add(found, [session("c0"), session("c1")])
    return found


def test_sessions_are_added_line_by_line(file: Path) -> None:
    before = file.read_bytes()
    done = store.add(file, [session("c2")])
    assert file.read_bytes().startswith(before) and file.read_bytes().count(b"\n") == 3
    assert [one.label for one in done.added] == ["c2"]
    found = store.read(file)
    assert [one.label for one in found.logs] == ["c0", "c1", "c2"] and found.warnings() == []


def test_a_session_is_added_once(file: Path) -> None:
    before = file.read_bytes()
    done = store.add(file, [session("again", "c0")])
    assert (done.added, [one.label for one in done.known]) == ((), ["c0"])
    assert file.read_bytes() == before
    done = store.add(file, [session("c2"), session("c2")])
    assert (len(done.added), len(done.known)) == (1, 1)


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
    done = store.add(file, [session("c2")])
    assert done.warnings == ("the last line of history.jsonl is torn (17 bytes); it is skipped",)
    assert file.read_bytes().startswith(whole + b'{"schema": 1, "kind"')
    assert [one.label for one in store.read(file).logs] == ["c0", "c1", "c2"]
    assert (file.parent / "history.torn").read_bytes() == b'{"schema": 1, "ki\n'


def test_a_last_line_without_its_end_is_whole(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])
    assert len(store.read(file).logs) == 2
    store.add(file, [session("c2")])
    assert len(store.read(file).logs) == 3


def test_damaged_lines_are_named(file: Path) -> None:
    first, second = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join([first, b"\xff", b"[]", b"", second, b""]))
    found = store.read(file)
    assert len(found.logs) == 2
    assert found.warnings() == ["history.jsonl cannot be read in line 2, 3; skipped"]


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


def test_only_one_writes_at_a_time(file: Path) -> None:
    with file.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another taskgrain is writing here"):
            store.add(file, [session("c2")])


def test_a_full_disk_leaves_nothing_half_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, write = file.read_bytes(), os.write
    calls: list[int] = []

    def full(descriptor: int, raw: bytes) -> int:
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(descriptor, raw[:20])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OutputError, match="No space left on device; nothing was added"):
        store.add(file, [session("c2")])
    monkeypatch.undo()
    assert file.read_bytes() == before


def test_a_session_is_brought_to_the_disk(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    store.add(file, [session("c2")])
    assert len(synced) == 2, "the file and its folder"


def test_the_simulated_store_is_one(tmp_path: Path) -> None:
    file = made.grown(tmp_path / "h.jsonl", [1e-6, None])
    assert [one.measurements[0].cell.error for one in store.read(file).logs] == ["", "validation"]
