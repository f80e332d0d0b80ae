"""Drivers in Python whose runtime executes tasks in processes of its own; the twin of `process_system.hpp`.

The driver derives from `ProcessSystem`. A process that is about to execute tasks calls `join()` first, which
binds it to a core; `join().run` is then its part of the present run. What they did is added up by
`ProcessSystem.verify`, over sockets of its own, because not every runtime can reach each of its processes.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from taskgrain._core import Run
from taskgrain.system import elsewhere
from taskgrain.system.driver import System, check_memory

_ADDRESS = "TASKGRAIN_DRIVER"
"""Environment variable by which processes find the driver: its socket, and the key to it."""
_JOIN_SECONDS = 60.0
"""The time that worker processes have to join."""


def _bind(processors: Sequence[int]) -> None:
    """The threads of this process, and with them those that they will start."""
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
        address, port, key = os.environ[_ADDRESS].rsplit(":", 2)
        where = (address, int(port)) if port else f"\0{address}"
        self._driver = Client(where, authkey=bytes.fromhex(key))
        self._driver.send((number, os.uname().nodename))
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

    def _books(self) -> tuple[bytes, int]:
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
    """A system of worker processes, one for each core of this node, or of several.

    Between runs a runtime may end processes and start others: a run begins with as many members as cores.
    """

    in_one_process = False

    def __init__(self) -> None:
        nodes = elsewhere.nodes()
        self._started: subprocess.Popen[bytes] | None = None
        self.cores_of = {name: len(cores) for name, _, cores in nodes}
        """The cores of each node by its name, this one first: worker processes are numbered node by node."""
        self._slots = [(name, host, core) for name, host, cores in nodes for core in cores]
        """The node of each worker process as the user and as the node calls it, and the processor."""
        self.hosts = [host for _, host, _ in self._slots]
        """The node of each worker process, as it calls itself."""
        self.nodes, self.cores = len(nodes), len(self._slots)
        _bind(nodes[0][2])  # what is started from here shares these
        self._members: dict[int, Connection] = {}
        self._request: str | None = None
        self._may_lose = False
        """True if processes may end during the present run, because it is asked for a fault."""
        self._peak_rss_bytes = 0
        self._lock = threading.Lock()
        name, key = f"taskgrain-{secrets.token_hex(8)}", secrets.token_hex(16)
        self.address = elsewhere.address()
        """The address of this node, for others; empty where there are none."""
        where = (self.address, 0) if self.address else f"\0{name}"
        self._listener = Listener(where, backlog=max(64, self.cores), authkey=bytes.fromhex(key))
        port = self._listener.address[1] if self.address else ""
        os.environ[_ADDRESS] = f"{self.address or name}:{port}:{key}"
        threading.Thread(target=self._accept, daemon=True).start()

    def binding(self) -> list[list[int]]:
        found: list[set[int]] = [set() for _ in self._slots]
        for number, processors in self._ask("binding").items():
            found[number % self.cores] |= processors
        return [sorted(processors) for processors in found]

    def prepare(self, run: Run) -> None:
        check_memory(run)
        self._request, self._may_lose = run.request, run.strikes is not None
        self.assemble()
        self._ask("begin", run.request)

    def start_elsewhere(self, command: Sequence[str]) -> None:
        """Starts a command on each other node, by the launcher; `{address}` in it is that of the node."""
        self._started = elsewhere.start(command)

    def close(self) -> None:
        if self._started:
            self._started.terminate()
            self._started.wait()

    def assemble(self) -> None:
        """Recruits until there is a member for each core, and no other. Raises `RuntimeError`, with the nodes
        on which some are missing, if they have not come in a minute."""
        end = time.monotonic() + _JOIN_SECONDS
        while not self.is_complete():
            ended = self._started.poll() if self._started else None
            if ended is not None or time.monotonic() > end:
                why = "have not joined" if ended is None else f"did not start (exit code {ended})"
                raise RuntimeError(f"worker processes {why}: {', '.join(self.missing())}")
            self.recruit()

    def missing(self) -> list[str]:
        """Says how many of the worker processes are missing, node by node."""
        with self._lock:
            absent = [self._slots[n][0] for n in range(self.cores) if n not in self._members]
        return [f"{absent.count(name)} on {name}" for name in dict.fromkeys(absent)]

    def recruit(self) -> None:
        """Has the runtime start the worker processes that are missing, and these join; it may take some
        seconds, and is called again."""
        raise RuntimeError(f"one of {self.cores} worker processes has ended")

    def verify(self, run: Run) -> tuple[dict[str, Any], dict[str, Any] | None]:
        if run.strikes is not None:  # all processes share these books already
            return super().verify(run)
        for books, peak_rss_bytes in self._ask("books").values():
            run.add(books)
            self._peak_rss_bytes = max(self._peak_rss_bytes, peak_rss_bytes)
        return super().verify(run)

    def peak_rss_bytes(self) -> int:
        return max(self._peak_rss_bytes, super().peak_rss_bytes())

    def is_complete(self) -> bool:
        """Tells whether each core has its member. Forgets others, which end as they lose the driver."""
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
                number, host = member.recv()
            except (EOFError, OSError):
                continue
            with self._lock:
                if self._may_lose:  # then the newcomer may be for one that has ended
                    self._dismiss(lambda _, member: member.poll())
                own = [n for n, where in enumerate(self.hosts) if where == host]
                if number is None:
                    places = itertools.chain(own, itertools.count(self.cores))
                    number = next(n for n in places if n not in self._members)
                elif number < self.cores and number not in own:  # it is not where it was started
                    member.close()
                    continue
                member.send((number, self._slots[number % self.cores][2], self._request))
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
