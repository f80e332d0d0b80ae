"""A driver's output: its answers, and all else, which is its log."""

from __future__ import annotations

import os
import queue
import threading

from taskgrain.drive.log import DriverLog

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
