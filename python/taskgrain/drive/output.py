"""A driver's output: its answers, and all else, which is its log."""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from pathlib import Path

from taskgrain.drive.answers import printable

PREFIX = b"@taskgrain "
Answers = queue.Queue[bytes | None]
"""Answers without the prefix; None once there are no more."""
_LONGEST_LINE = 2**22
_MOST_ANSWERS = 16


def answers() -> Answers:
    """Returns room for the answers of a driver."""
    return queue.Queue(_MOST_ANSWERS)


class Reader(threading.Thread):
    """Splits a driver's stream into answers, if it has some, and the log; bounded whatever comes."""

    def __init__(self, descriptor: int, log: DriverLog, found: Answers | None) -> None:
        super().__init__(daemon=True)
        self._descriptor, self._log, self._found = descriptor, log, found

    def run(self) -> None:
        rest = b""
        skipping = False
        while True:
            try:
                block = os.read(self._descriptor, 2**16)
            except OSError:
                block = b""
            if not block:
                break
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                if not skipping:
                    self._take(line)
                skipping = False
            if len(rest) > (_LONGEST_LINE if rest.startswith(PREFIX) else 2**16):
                if not skipping:
                    self._take(rest)
                rest, skipping = b"", True
        if rest:
            self._take(rest)
        if self._found is not None:
            if self._found.full():
                self._found.get_nowait()
            self._found.put_nowait(None)

    def _take(self, line: bytes) -> None:
        if self._found is None or not line.startswith(PREFIX):
            self._log.write(line)
        elif not self._found.full():  # no request has so many answers: the next check ends the driver
            self._found.put_nowait(line[len(PREFIX) :])


LARGEST_LOG = 4 * 2**20
"""Bytes that one driver's log file may hold."""
_TAIL_LINES = 30
_TAIL_WIDTH = 400


class DriverLog:
    """Keeps the first bytes in `path` (None: nowhere) and the last lines in memory. Thread-safe."""

    def __init__(self, path: Path | None, largest: int = LARGEST_LOG) -> None:
        self._lock = threading.Lock()
        self._tail: deque[bytes] = deque(maxlen=_TAIL_LINES)
        self._file = None
        self._room = 0
        """Bytes left in the file; below 0 once something was dropped."""
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = path.open("ab", buffering=0)
                self._room = largest - self._file.tell()
            except OSError as error:  # no log, but also no end of the measurement
                self.note(f"{path} cannot be written: {error.strerror}")

    def write(self, line: bytes) -> None:
        """Adds a line, without its end; the end is added."""
        with self._lock:
            if line.strip():
                self._tail.append(line[:_TAIL_WIDTH])
            if self._file is None or self._room < 0:
                return
            entry = line + b"\n"
            if len(entry) > self._room:
                entry = entry[: self._room] + b"\n[taskgrain: the log is full; what follows was dropped]\n"
            self._room -= len(entry)
            try:
                self._file.write(entry)
            except OSError:
                self._room = -1  # a full disk must not end a measurement

    def note(self, text: str) -> None:
        """Adds a remark of the harness."""
        self.write(f"[taskgrain: {text}]".encode(errors="backslashreplace"))

    def tail(self) -> str:
        """The last lines, for a failure's report, without what would drive a terminal."""
        with self._lock:
            lines = [line.decode("utf-8", "replace").rstrip("\r").expandtabs() for line in self._tail]
        return "\n".join(map(printable, lines))

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
