"""A driver's log: what it keeps, and that it cannot fill the disk."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.drive.output import DriverLog


def test_the_log_of_an_earlier_start_counts(tmp_path: Path) -> None:
    for _ in range(3):
        log = DriverLog(tmp_path / "logs" / "x.log", largest=20)
        log.write(b"0123456789")
        log.close()
    text = (tmp_path / "logs" / "x.log").read_text()
    assert text.startswith("0123456789\n012345678\n[taskgrain: the log is full;")
    assert text.count("is full") == 1


@given(st.lists(st.binary(max_size=80), max_size=40), st.integers(0, 300))
def test_whatever_is_written_the_file_is_its_beginning_and_the_tail_its_end(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], largest: int
) -> None:
    file = tmp_path_factory.mktemp("logs") / "x.log"
    log = DriverLog(file, largest=largest)
    for line in lines:
        log.write(line)
    log.close()
    written = b"".join(line + b"\n" for line in lines)
    begin, notice, rest = file.read_bytes().partition(b"\n[taskgrain: the log is full; what follows was ")
    assert written.startswith(begin)
    assert rest == (b"dropped]\n" if notice else b"")
    assert bool(notice) == (len(begin) < len(written))
    assert len(begin) <= largest
    assert all(one.isprintable() for one in log.tail().split("\n"))
    kept = [line for line in lines if line.strip()][-30:]
    assert len(log.tail().split("\n")) == max(1, len(kept))


def test_the_tail_is_short_and_drives_no_terminal() -> None:
    log = DriverLog(None)
    log.write(b"old")
    for number in range(29):
        log.write(b"%d" % number + b"x" * 1000)
    log.write(b"   ")  # says nothing
    log.write("\x1b[31mred\tü ".encode() + b"\xff")
    lines = log.tail().split("\n")
    assert len(lines) == 30
    assert lines[0].startswith("0x")
    assert max(map(len, lines)) == 400
    assert lines[-1] == "\ufffd[31mred ü \ufffd".replace("red ", "red" + " " * (8 - len("\x1b[31mred") % 8))


def test_a_log_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = DriverLog(tmp_path / "file" / "x.log")
    log.write(b"a line")
    assert log.tail() == f"[taskgrain: {tmp_path}/file/x.log cannot be written: File exists]\na line"
    log.close()
    log.close()


def test_names_that_are_no_unicode_can_be_noted(tmp_path: Path) -> None:
    log = DriverLog(tmp_path / "x.log")
    log.note("start: " + os.fsdecode(b"/home/\xff/driver"))
    log.close()
    assert (tmp_path / "x.log").read_text() == "[taskgrain: start: /home/\\udcff/driver]\n"


def test_two_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    log = DriverLog(tmp_path / "x.log")
    threads = [
        threading.Thread(target=lambda mark=mark: [log.write(mark * 50) for _ in range(500)])
        for mark in (b"a", b"b")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    lines = (tmp_path / "x.log").read_bytes().splitlines()
    assert len(lines) == 1000
    assert set(lines) == {b"a" * 50, b"b" * 50}
