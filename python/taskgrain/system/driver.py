"""Drivers in Python: derive from `System`, call `drive`; the twin of `taskgrain/driver.hpp`.

A driver is a program:

    class MySystem(System):
        name, version, cores = "mine", "1.0", 2

        def execute(self, run: Run) -> None:
            ...  # every task of every graph once, through run.execute_point(...)

    if __name__ == "__main__":
        drive(MySystem)
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from taskgrain import _core
from taskgrain._core import Run, Waiting

PREFIX = "@taskgrain "
PROTOCOL = 1


class System(ABC):
    """A system under the ruler."""

    name: str
    version: str
    """Version of the runtime that the system uses."""
    nodes: int = 1
    cores: int = 1
    """Cores that the system got over all nodes, those it keeps for itself included: counted, not as asked."""
    library: str = ""
    """The library that connects its processes, with its version, if one does."""
    in_one_process: bool = True
    """True if it executes all tasks in this process."""

    def binding(self) -> list[list[int]]:
        """The processors that each worker may run on, observed by the worker itself."""
        return [_core.binding_of_this_thread()]

    def prepare(self, run: Run) -> None:  # noqa: B027 - most systems have nothing to prepare
        """Prepares a run, once for all its repeats; its time is reported apart."""

    @abstractmethod
    def execute(self, run: Run) -> None:
        """Executes every task of every graph once; timed."""

    def verify(self, run: Run) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Returns the counts of executions, and the first violation; several processes add theirs up here."""
        return run.accounts(), run.verify()

    def peak_rss_bytes(self) -> int:
        """The peak memory of the process that has used most."""
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def close(self) -> None:  # noqa: B027 - most systems have nothing to end
        """Ends all that the system has started."""


def check_memory(run: Run) -> None:
    """Raises `MemoryError` if two steps of outputs are more than this machine can hold."""
    needed = sum(2 * run.width(g) * run.output_bytes(g) for g in range(run.graphs))
    if needed > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        raise MemoryError(f"two steps have {needed} bytes of outputs")


class _Answers:
    """The stream of answers. Standard output becomes standard error, so that no runtime's text mixes in."""

    def __init__(self) -> None:
        self._stream: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def send(self, answer: dict[str, Any]) -> None:
        self._stream.write(PREFIX + json.dumps(answer) + "\n")
        self._stream.flush()


def _ready(system: System) -> dict[str, Any]:
    return {
        "event": "ready",
        "protocol": PROTOCOL,
        "system": system.name,
        "version": system.version,
        "nodes": system.nodes,
        "cores": system.cores,
        "binding": system.binding(),
        **({"library": system.library} if system.library else {}),
        **json.loads(_core.build_facts_json()),
    }


def _error(number: int | None, kind: str, message: str) -> dict[str, Any]:
    return {"event": "error", "id": number, "kind": kind, "message": message}


def _run(system: System, request: dict[str, Any]) -> dict[str, Any]:
    run = Run(json.dumps(request))
    start = time.perf_counter()
    system.prepare(run)
    prepared = time.perf_counter() - start
    seconds: list[float] = []
    waited: list[float] = []
    accounts: dict[str, Any] = {}
    violation = None
    for repeat in range(-run.warmup, run.repeats):
        run.clear()
        waiting = Waiting()
        start = time.perf_counter()
        system.execute(run)
        if repeat >= 0:
            seconds.append(time.perf_counter() - start)
            waited.append(waiting.seconds(system.cores, seconds[-1]) if system.in_one_process else math.nan)
        accounts, found = system.verify(run)
        violation = violation or found
    if violation:
        message = violation.pop("message")
        return _error(run.id, "validation", message) | {"violation": violation}
    strikes = {} if run.strikes is None else {"strikes": run.strikes}
    return {
        "event": "result",
        "id": run.id,
        "seconds": seconds,
        "prepare_seconds": [prepared],
        **({} if any(map(math.isnan, waited)) else {"waited": waited}),
        "tasks": run.tasks,
        **accounts,
        **strikes,
        "cores": system.cores,
        "binding": system.binding(),
        "peak_rss_bytes": system.peak_rss_bytes(),
    }


def _answer(system: System, line: str) -> dict[str, Any] | None:
    """The answer to a request; None ends the driver."""
    number = None
    try:
        request = json.loads(line)
        number = request.get("id")
        op = request["op"]
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError):
        shown = line.strip()[:200]
        message = f"request: '{shown}' is not allowed; allowed: a JSON object with 'op'"
        return _error(number, "invalid", message)
    try:
        match op:
            case "hello":
                return _ready(system)
            case "run":
                return _run(system, request)
            case "quit":
                return None
            case other:
                raise _core.InvalidSpec(f"op: '{other}' is not allowed; allowed: hello, run, quit")
    except _core.InvalidSpec as error:
        kind, message = "invalid", str(error)
    except _core.Unsupported as error:
        kind, message = "unsupported", str(error)
    except MemoryError as error:
        kind, message = "unsupported", f"not enough memory for these graphs: {error}"
    except Exception as error:  # whatever the runtime throws is an answer, not the end of the driver
        kind, message = "system", f"{type(error).__name__}: {error}"
    return _error(number, kind, message)


def drive(system: System | Callable[[], System], requests: Iterable[str] | None = None) -> None:
    """Serves the harness: one request a line, on standard input unless `requests` are given.

    A system that starts processes is better given as its class: nothing that they print mixes with answers.
    """
    answers = _Answers()
    lines = iter(requests if requests is not None else sys.stdin)
    try:
        served = system if isinstance(system, System) else system()
    except RuntimeError as error:
        next(lines, None)
        answers.send(_error(None, "system", str(error)))
        raise
    try:
        for line in lines:
            if not line.strip():
                continue
            answer = _answer(served, line)
            if answer is None:
                return
            answers.send(answer)
    finally:
        served.close()
