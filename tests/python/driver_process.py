"""A driver as a process that a test talks to line by line, and where the drivers of this machine are."""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from taskgrain._core import descendants
from taskgrain.drive import catalogue as system
from taskgrain.drive.system import System

PREFIX = b"@taskgrain "
CORES = tuple(sorted(os.sched_getaffinity(0))[:2])
REPOSITORY = Path(__file__).parents[2]

Answer = dict[str, Any]


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
    """Started with the harness's command and environment; ended, whatever happens, with the `with` block.
    The time limit of a test ends what hangs."""

    def __init__(
        self, one: System, cores: Sequence[int] = CORES, extra: Mapping[str, str] | None = None
    ) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (`end` closes it)
        self._process = subprocess.Popen(
            one.launch(cores).command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
            env=environment_of(one, cores, extra),
        )  # fmt: skip
        assert self._process.stdin and self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, request: Mapping[str, object] | str) -> Answer:
        """The answer to one request; a text is sent as it is."""
        line = request if isinstance(request, str) else json.dumps(request)
        with contextlib.suppress(BrokenPipeError):
            self._input.write(line.encode() + b"\n")
            self._input.flush()
        printed = []
        for one in self._output:
            if one.startswith(PREFIX):
                answer = json.loads(one.removeprefix(PREFIX))
                assert isinstance(answer, dict)
                return answer
            printed.append(one)
        self._said.seek(0)
        log = (b"".join(printed) + self._said.read()).decode(errors="replace")
        raise AssertionError(f"the driver is gone, without an answer to {line[:200]}: {log}")

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
        return self._process.wait()

    def quit(self) -> int:
        self._input.write(b'{"op":"quit"}\n')
        self._input.flush()
        return self._process.wait()

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
        for stream in (self._input, self._output, self._said):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
