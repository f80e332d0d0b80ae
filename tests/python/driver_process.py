"""A driver as a process that a test talks to line by line, and where the drivers of this machine are."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from taskgrain._core import descendants
from taskgrain.drive import catalogue as system
from taskgrain.drive.system import System

PREFIX = b"@taskgrain "
CORES = tuple(sorted(os.sched_getaffinity(0))[:2])
REPOSITORY = Path(__file__).parents[2]

Answer = dict[str, Any]
_SECONDS = 300.0
"""The longest that an answer or an end may take, times the patience of the system."""


def runnable(nested: bool = False) -> dict[str, System]:
    """The installed systems that can run here; if there is none, those built in TASKGRAIN_SYSTEMS_BUILD.
    What is simulated has tests of its own, and so has what runs `nested` forks alone."""
    found = system.discover()
    build = os.environ.get("TASKGRAIN_SYSTEMS_BUILD")
    if not found and build:
        for name, one in system.discover([REPOSITORY / "systems"]).items():
            found[name] = replace(one, folder=Path(build) / name)
    here = {name: one for name, one in found.items() if one.probe().available and not one.simulated}
    return {name: one for name, one in here.items() if one.nested == nested}


def command_of(one: System, arguments: Sequence[str] = ()) -> list[str]:
    return [*one.launch(CORES).command, *arguments]


def environment_of(
    one: System, cores: Sequence[int] = CORES, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    launch = one.launch(cores)
    return {
        **os.environ, **launch.env, "TASKGRAIN_CORES": ",".join(map(str, launch.cores)), **(extra or {})
    }  # fmt: skip


def marked(mark: str) -> list[int]:
    """All processes with `mark` in their environment, wherever a runtime has put them."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
            if mark.encode() in file.read():
                found.append(int(name))
    return found


class DriverProcess:
    """Started with the harness's command and environment; ended, whatever happens, with the `with` block."""

    def __init__(
        self, one: System, cores: Sequence[int] = CORES, extra: Mapping[str, str] | None = None
    ) -> None:
        self._process = subprocess.Popen(
            one.launch(cores).command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment_of(one, cores, extra),
        )  # fmt: skip
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input, self._output, self._errors = (
            self._process.stdin, self._process.stdout, self._process.stderr
        )  # fmt: skip
        os.set_blocking(self._output.fileno(), False)
        os.set_blocking(self._errors.fileno(), False)
        self._patience = one.patience
        self._lines: list[bytes] = []
        self._rest = b""
        self.log = b""
        """What the driver printed beside its answers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def ask(self, request: Mapping[str, object] | str, seconds: float = _SECONDS) -> Answer:
        """The answer to one request; a text is sent as it is. Fails if there is none in time."""
        line = request if isinstance(request, str) else json.dumps(request)
        try:
            self._input.write(line.encode() + b"\n")
            self._input.flush()
        except BrokenPipeError:
            raise AssertionError(f"the driver is gone: {self.log.decode(errors='replace')}") from None
        deadline = time.monotonic() + self._patience * seconds
        while not self._lines:
            assert self._read(deadline), f"no answer to {line[:200]}: {self.log.decode(errors='replace')}"
        answer = json.loads(self._lines.pop(0).removeprefix(PREFIX))
        assert isinstance(answer, dict)
        return answer

    def _read(self, deadline: float) -> bool:
        """Takes what the driver has printed. False if it ended, or the time is over."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            selector.register(self._errors, selectors.EVENT_READ)
            ready = selector.select(max(0.0, deadline - time.monotonic()))
        self.log += self._errors.read() or b""
        block = self._output.read() or b""
        *lines, self._rest = (self._rest + block).split(b"\n")
        self._lines += [line for line in lines if line.startswith(PREFIX)]
        self.log += b"".join(line + b"\n" for line in lines if not line.startswith(PREFIX))
        return bool(ready) and (bool(block) or self._process.poll() is None)

    def ranks(self) -> list[int]:
        """The processes of MPI that run the driver itself."""
        found = []
        for pid in descendants([self._process.pid]):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/exe").resolve().name.startswith("driver"):
                    found.append(pid)
        return found

    def run(self, *graphs: Mapping[str, object], **fields: object) -> Answer:
        """The answer to one `run`, checked byte by byte unless `fields` says otherwise."""
        request = {"op": "run", "id": 1, "graphs": list(graphs), "repeats": 1, "validate": "full"}
        return self.ask(request | fields)

    def hang_up(self) -> int:
        """Ends the driver's input and returns its exit code."""
        self._input.close()
        return self._process.wait(self._patience * _SECONDS)

    def quit(self) -> int:
        self._input.write(b'{"op":"quit"}\n')
        self._input.flush()
        return self._process.wait(self._patience * _SECONDS)

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Ends the driver by force if need be; mpirun ends its ranks when it is terminated."""
        for end in (self._process.terminate, self._process.kill):
            if self._process.poll() is None:
                end()
                try:
                    self._process.wait(60.0)
                except subprocess.TimeoutExpired:
                    continue
        for stream in (self._input, self._output, self._errors):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
