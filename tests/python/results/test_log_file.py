"""A file of lines that only grows: one writer at a time, whole lines or nothing, no torn line in the way."""

import os
from pathlib import Path

import pytest

from taskgrain.results.log_file import LogFile, bring_to_disk
from taskgrain.words.errors import UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "log.jsonl"
    found.write_bytes(b"one\ntwo\n")
    return found


def test_what_is_appended_stands_behind_what_there_was(path: Path) -> None:
    file = LogFile(path)
    file.append(b"three\n")
    file.close()
    assert path.read_bytes() == b"one\ntwo\nthree\n"


@pytest.mark.parametrize(("tail", "torn"), [(b"", b""), (b"thr", b"thr"), (b"three", b"")])
def test_a_torn_line_is_set_aside_and_a_whole_one_gets_its_end(path: Path, tail: bytes, torn: bytes) -> None:
    with path.open("ab") as file:
        file.write(tail)
    log = LogFile(path)
    log.mend(torn)
    log.append(b"last\n")
    log.close()
    whole = b"three\n" if tail and not torn else b""
    assert path.read_bytes() == b"one\ntwo\n" + whole + b"last\n"
    aside = path.with_name("log.torn")
    assert aside.exists() == bool(torn) and (not torn or aside.read_bytes() == torn + b"\n")


def test_a_file_whose_name_ends_in_torn_is_not_its_own_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "x.torn"
    path.write_bytes(b"one\ntw")
    log = LogFile(path)
    log.mend(b"tw")
    log.close()
    assert (path.read_bytes(), (tmp_path / "x.torn.torn").read_bytes()) == (b"one\n", b"tw\n")


def test_only_one_writes_at_a_time(path: Path) -> None:
    first = LogFile(path)
    with pytest.raises(UsageError, match=r"folder: another taskgrain is writing here; wait for it or stop"):
        LogFile(path, Path("folder"))
    first.close()
    LogFile(path).close()


@pytest.mark.parametrize("fails", ["write", "fsync"])
def test_a_full_disk_leaves_nothing_half_written(
    path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    write, calls = os.write, []

    def full(file: int, raw: bytes = b"") -> int:
        calls.append(file)
        if fails == "fsync" or len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(file, raw[:2])

    file = LogFile(path)
    monkeypatch.setattr(os, fails, full)
    with pytest.raises(OSError, match="No space left"):
        file.append(b"three\n", sync=True)
    assert path.read_bytes() == b"one\ntwo\n" and calls


def test_a_file_system_that_cannot_bring_to_disk_keeps_the_file() -> None:
    reading, writing = os.pipe()
    with pytest.raises(OSError, match="Invalid argument"):
        os.fsync(writing)  # as some of FUSE
    bring_to_disk(writing)
    for one in (reading, writing):
        os.close(one)
    with pytest.raises(OSError, match="Bad file descriptor"):
        bring_to_disk(writing)


def test_a_file_that_was_removed_is_noticed(path: Path) -> None:
    file = LogFile(path)
    assert not file.removed
    path.unlink()
    assert file.removed
