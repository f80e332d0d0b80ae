"""Drivers in Python whose runtime executes tasks in processes of its own; the twin of `process_system.hpp`.

The driver derives from `ProcessSystem`. A process that is about to execute tasks calls `join()` first, which
binds it to a core; `join().run` is then its part of the present run. What they did is added up by
`ProcessSystem.verify`, over sockets of its own, because not every runtime can reach each of its processes.
"""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from taskgrain import _core
from taskgrain._core import Run
from taskgrain.system.driver import System, check_memory

_ADDRESS = "TASKGRAIN_DRIVER"
"""Environment variable by which processes find the driver: its socket, and the key to it."""


def _bind(processors: Sequence[int]) -> None:
    """All threads of this process, and with them those that they will start."""
    for _ in range(2):  # one may be starting another
        for thread in os.listdir("/proc/self/task"):
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.sched_setaffinity(int(thread), processors)


def _binding() -> set[int]:
    """The processors on which some thread of this process may run."""
    found: set[int] = set()
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError):
            found |= os.sched_getaffinity(int(thread))
    return found


def _peak_rss_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Member:
    """A process that executes tasks, as it sees itself."""

    run: Run
    """Its part of the present run."""

    def __init__(self, number: int | None) -> None:
        address, key = os.environ[_ADDRESS].split(":")
        self._driver = Client(f"\0{address}", authkey=bytes.fromhex(key))
        self._driver.send(number)
        self.number, processor, request = self._driver.recv()
        _bind([processor])
        if request is not None:
            self._begin(request)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                what, *arguments = self._driver.recv()
                self._driver.send(self._answer(what, *arguments))
            except (EOFError, OSError):
                os._exit(1)  # the driver is gone, and so shall we

    def _answer(self, what: str, *arguments: str) -> object:
        try:
            match what:
                case "begin":
                    self._begin(*arguments)
                    return None
                case "books":
                    return self._books()
                case _:
                    return _binding()
        except MemoryError as error:
            return error
        except Exception as error:
            return RuntimeError(f"worker process {self.number}: {error}")

    def _begin(self, request: str) -> None:
        self.run = Run(request)
        self.run.distribute()

    def _books(self) -> tuple[dict[str, Any], int]:
        books = self.run.books()
        self.run.clear()
        return books, _peak_rss_bytes()


_member: Member | None = None


def join(number: int | None = None) -> Member:
    """This process as a member; the first call makes it worker `number`, or the next that is free."""
    global _member
    if _member is None:
        _member = Member(number)
    return _member


class ProcessSystem(System):
    """A system of worker processes on this machine, one for each core.

    Between runs a runtime may end processes and start others: a run begins with as many members as cores.
    """

    in_one_process = False

    def __init__(self) -> None:
        self._processors = _core.cores()
        self.cores = len(self._processors)
        _bind(self._processors)  # what is started from here shares these
        self._members: dict[int, Connection] = {}
        self._request: str | None = None
        self._may_lose = False
        """Whether processes may end during the present run, because it is asked for a fault."""
        self._peak_rss_bytes = 0
        self._lock = threading.Lock()
        address, key = f"taskgrain-{secrets.token_hex(8)}", secrets.token_hex(16)
        self._listener = Listener(f"\0{address}", backlog=64, authkey=bytes.fromhex(key))
        os.environ[_ADDRESS] = f"{address}:{key}"
        threading.Thread(target=self._accept, daemon=True).start()

    def binding(self) -> list[list[int]]:
        found: list[set[int]] = [set() for _ in self._processors]
        for number, processors in self._ask("binding").items():
            found[number % self.cores] |= processors
        return [sorted(processors) for processors in found]

    def prepare(self, run: Run) -> None:
        check_memory(run)
        self._request, self._may_lose = run.request, run.strikes is not None
        self.assemble()
        self._ask("begin", run.request)

    def assemble(self) -> None:
        """Recruits until there is a member for each core, and no other."""
        while not self._is_complete():
            self.recruit()

    def recruit(self) -> None:
        """Has the runtime start the worker processes that are missing, and these join."""
        raise RuntimeError(f"one of {self.cores} worker processes has ended")

    def verify(self, run: Run) -> tuple[dict[str, Any], dict[str, Any] | None]:
        if run.strikes is not None:  # the books are those of all processes already
            return super().verify(run)
        for books, peak_rss_bytes in self._ask("books").values():
            run.add(books)
            self._peak_rss_bytes = max(self._peak_rss_bytes, peak_rss_bytes)
        return super().verify(run)

    def peak_rss_bytes(self) -> int:
        return max(self._peak_rss_bytes, super().peak_rss_bytes())

    def _is_complete(self) -> bool:
        """Whether the members are those of all cores. Forgets others, which end as they lose the driver."""
        with self._lock:
            # None owes an answer now: one that has something to say has ended.
            complete = not self._dismiss(lambda number, member: number >= self.cores or member.poll())
            return complete and len(self._members) == self.cores

    def _dismiss(self, which: Callable[[int, Connection], bool]) -> bool:
        """Forgets some members; whether there were any. To be called with the lock."""
        found = [number for number, member in self._members.items() if which(number, member)]
        for number in found:
            self._members.pop(number).close()
        return bool(found)

    def _accept(self) -> None:
        while True:
            try:
                member = self._listener.accept()
                number = member.recv()
            except (EOFError, OSError):
                continue
            with self._lock:
                if self._may_lose:  # then the newcomer may be for one that has ended
                    self._dismiss(lambda _, member: member.poll())
                if number is None:
                    number = next(n for n in range(len(self._members) + 1) if n not in self._members)
                member.send((number, self._processors[number % self.cores], self._request))
                self._members[number] = member

    def _ask(self, *message: str) -> dict[int, Any]:
        """The answers of all members, by number."""
        answers: dict[int, Any] = {}
        with self._lock:
            for step in ("send", "receive"):
                for number, member in sorted(self._members.items()):
                    try:
                        if step == "send":
                            member.send(message)
                        else:
                            answers[number] = member.recv()
                    except (EOFError, OSError):
                        self._members.pop(number).close()
                        if not self._may_lose:
                            answers[number] = RuntimeError(f"worker process {number} has ended")
        for answer in answers.values():
            if isinstance(answer, Exception):
                raise answer
        return answers
