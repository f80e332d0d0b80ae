"""Serves the harness on one host of several, by JSON lines on its standard streams as drivers do.

    python -m taskgrain.drive.host_agent REFERENCE CORES

It chooses so many cores of its host, and measures the kernel alone on them. It watches, stops, continues and
kills the ranks that drivers have there: those whose environment has the mark of the driver. When its standard
input ends, or it is told to terminate, it kills them all.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from typing import Any

from taskgrain import _core
from taskgrain.drive.answers import PROTOCOL
from taskgrain.drive.output import PREFIX
from taskgrain.drive.process_tree import marked, send
from taskgrain.machine import facts as machine
from taskgrain.machine.busy import BusyWatch
from taskgrain.machine.processes import runs
from taskgrain.machine.topology import choose_cores, topology
from taskgrain.system.elsewhere import scratch
from taskgrain.words.errors import InputError
from taskgrain.words.quantity import counted

_KILLED_SECONDS = 10.0


class Agent:
    """Answers requests. A context manager: at its end no process that it knows of is left."""

    def __init__(self, reference: str, cores: int) -> None:
        self._program = reference
        self._cores = choose_cores(cores)
        self._references: dict[int, subprocess.Popen[bytes]] = {}
        """The references, by the number of cores that they measure."""
        self._found: dict[str, list[int]] = {}
        """The ranks of each driver, by its mark."""
        self._shared: dict[str, set[bytes]] = {}
        """The files in /dev/shm of each driver, seen when it was stopped: its ranks may end before they are
        killed, and not remove them."""
        self._watches: dict[str, BusyWatch] = {}
        self._begun = time.time() - 1.0

    def close(self) -> None:
        """Kills the ranks that are left, and the references."""
        for mark in list(self._found):
            self._kill(mark)
        for one in self._references.values():
            one.kill()
            one.wait()

    def answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to one request; None if it is the last."""
        mark = request.get("mark", "")
        match request["op"]:
            case "quit":
                return None
            case "hello":
                return {"event": "ready", "protocol": PROTOCOL, "system": "host agent", "cores": 1}
            case "facts":
                return {"event": "facts", "cores": self._cores, "facts": machine.of_host(machine.facts())}
            case "peak":
                return self._peak(request)
            case "go_on":
                send(signal.SIGCONT, self._ranks(mark))
                self._watches[mark] = BusyWatch(self._cores[: request["cores"]], self._ranks(mark))
            case "busy":
                return {"event": "busy", "busy": asdict(self._watches[mark].end(self._ranks(mark)))}
            case "stop":
                self._found.pop(mark, None)  # those of some runtimes start others
                send(signal.SIGSTOP, self._ranks(mark))
                found = _core.shared_memory(self._ranks(mark), self._begun)
                self._shared.setdefault(mark, set()).update(found)
            case "kill":
                self._kill(mark)
        return {"event": "done"}

    def _peak(self, request: dict[str, Any]) -> dict[str, Any]:
        cores = request.pop("cores")
        one = self._references.get(cores)
        if one is None or one.poll() is not None:
            env = {**os.environ, "TASKGRAIN_CORES": ",".join(map(str, self._cores[:cores]))}
            one = self._references[cores] = subprocess.Popen(
                [self._program], env=env, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert one.stdin is not None
        assert one.stdout is not None
        one.stdin.write(json.dumps(request).encode() + b"\n")
        line = one.stdout.readline()
        if not line.startswith(PREFIX):
            raise OSError(f"{self._program} ended ({one.poll()})")
        found: dict[str, Any] = json.loads(line.removeprefix(PREFIX))
        return found

    def _ranks(self, mark: str) -> list[int]:
        """The processes with the mark, and those that they started, which may have written their title
        over it: looked for until there are some, and after one has ended."""
        known = self._found.get(mark)
        if known and all(map(runs, known)):
            return known
        found = self._found[mark] = [pid for pid in marked(mark) if pid != os.getpid()]
        found += set(_core.descendants(found)) - {*found}
        return found

    def _kill(self, mark: str) -> None:
        """Kills the ranks, and removes their shared memory and files."""
        end = time.monotonic() + _KILLED_SECONDS
        self._found.pop(mark, None)
        left = self._shared.pop(mark, set())
        left |= set(_core.shared_memory(self._ranks(mark), self._begun))
        while (pids := self._ranks(mark)) and time.monotonic() < end:
            send(signal.SIGKILL, pids)
            time.sleep(0.002)
            self._found[mark] = [pid for pid in pids if runs(pid)]
        self._found.pop(mark, None)
        self._watches.pop(mark, None)
        shutil.rmtree(scratch(mark), ignore_errors=True)
        for path in left:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        made = Agent(sys.argv[1], int(sys.argv[2]))
    except InputError as error:
        has = len(topology().available)
        message = f"has {counted(has, 'core')}, and {error.value} are asked for"
        _say({"event": "error", "kind": "system", "message": message})
        return
    with contextlib.closing(made) as agent:
        for line in sys.stdin.buffer:
            try:
                answer = agent.answer(json.loads(line))
            except (OSError, ValueError) as error:
                answer = {"event": "error", "kind": "system", "message": str(error)}
            if answer is None:
                return
            _say(answer)


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.buffer.write(PREFIX + json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
