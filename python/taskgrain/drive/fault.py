"""A run with a fault: its books, and a core that the driver loses or gets in the middle of it."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from taskgrain.machine.processes import threads

_LOOK_SECONDS = 5e-4
"""The time between two looks whether it is time: so late the core may move."""
_LOOKS = 10
"""The looks until a core that is away is taken again: threads bind themselves when they begin to work."""


class MovedCore:
    """A context manager. As soon as the books of a run with a fault say that it has struck, no thread of the
    driver may use the last of its cores any more; or, if the core is `given`, none may until then. At the end
    each may again, as far as anybody knows what it was allowed before."""

    def __init__(
        self, pids: Callable[[], Sequence[int]], cores: Sequence[int], books: Path, given: bool
    ) -> None:
        self.moved = False
        """True if a thread has lost the core, or got it back, while the run went on."""
        self.guessed = False
        """True if a thread may now use all cores because nobody knows whether it had bound itself before."""
        self._pids, self._books, self._given = pids, books, given
        self._all, self._rest, self._core = set(cores), set(cores[:-1]), cores[-1]
        self._before: dict[int, set[int]] = {}
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if self._given:
            self._take()
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watcher.join()
        self._give()

    def _watch(self) -> None:
        away = self._given
        for look in itertools.count(1):
            if self._over.wait(_LOOK_SECONDS):
                return
            if away and look % _LOOKS == 0:
                self.moved |= self._take() and not self._given
            if away == self._given and self._struck():
                if self._given:
                    self.moved = self._give() and not self._over.is_set()
                    return
                away = True
                self.moved = self._take() and not self._over.is_set()

    def _struck(self) -> bool:
        with contextlib.suppress(OSError), open(self._books, "rb") as file:
            return any(file.read(8))
        return False  # the books are not there yet

    def _take(self) -> bool:
        """Tells whether a thread had the core."""
        first, had = not self._before, False
        for _ in range(2):  # a thread may be starting another
            for thread in threads(self._pids()):
                with contextlib.suppress(OSError):
                    now = os.sched_getaffinity(thread)
                    if first or self._core in now:  # one that has started since has what its parent was left
                        self._before.setdefault(thread, now)
                    if self._core in now:
                        os.sched_setaffinity(thread, now - {self._core} or self._rest)
                        had = True
        return had

    def _give(self) -> bool:
        """Tells whether a thread got the core."""
        got = False
        for thread in threads(self._pids()) if self._before else ():
            with contextlib.suppress(OSError):  # it has ended
                now = os.sched_getaffinity(thread)
                before = self._before.get(thread, now)
                if thread not in self._before and now == self._rest:
                    # It has started since: by itself it chose what its parent was left, or by inheritance.
                    before, self.guessed = self._all, True
                if now != before:
                    os.sched_setaffinity(thread, before)
                    got |= self._core in before
        return got


class Books:
    """The books, which a driver's processes share: how often the fault has struck.

    A context manager: the file is there from its beginning on, and goes with it. It can be read even when
    the driver's folder has gone with the driver.
    """

    def __init__(self, file: str) -> None:
        self._file, self._descriptor = file, -1

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):  # then the driver cannot have books, and says so
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._file)
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def strikes(self) -> int:
        """The first number of the books; 0 before a driver has begun them."""
        head = os.pread(self._descriptor, 8, 0) if self._descriptor >= 0 else b""
        return int.from_bytes(head, "little")
