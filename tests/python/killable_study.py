"""A study of simulated systems as real processes, to be killed and started again by tests."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
from waiting import wait_until

from taskgrain._core import descendants
from taskgrain.machine.processes import SUPERVISOR, runs
from taskgrain.results import reader

DRIVERS = Path(__file__).parent / "drivers"
FAKE = DRIVERS / "fake.py"
OVERHEADS = {"fast": 1e-6, "slow": 5e-6}
Line = dict[str, Any]


def write_system(folder: Path, name: str, *words: str) -> None:
    """A simulated system of a Python driver; `words` are its file and arguments."""
    system = folder / "systems" / name
    system.mkdir(parents=True)
    command = ["{python}", *words, "{dir}"]
    (system / "system.toml").write_text(f"default = true\nsimulated = true\n[launch]\ncommand = {command}\n")


def write_study(folder: Path, **settings: object) -> list[str]:
    """A study of two systems on two patterns in `folder`; returns the command's arguments."""
    for name, overhead in OVERHEADS.items():
        write_system(folder, name, str(FAKE), str(overhead), "0.02", "=")
    table = {"patterns": ["stencil_1d", "nearest"], "widths": [4]} | settings
    (folder / "s.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
    words = ["study", str(folder / "s.toml"), "-o", str(folder / "out"), "--systems", str(folder / "systems")]
    return words


def program(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "taskgrain", *words]


def finish(words: Sequence[str], code: int = 0, **rest: Any) -> Mapping[str, Any]:
    """Runs the command to its end, which must be `code`, and returns what it prints."""
    done = subprocess.run([*program(words), "--json"], capture_output=True, text=True, check=False, **rest)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def lines(folder: Path, *kinds: str) -> list[Line]:
    return [line.to_json() for line in reader.read(folder).lines if line.kind in kinds]


def key(line: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(line[name] for name in ("cell", "phase", "round", "iterations", "steps"))


def assert_nothing_twice(folder: Path) -> None:
    repeated = [one for one, count in Counter(map(key, lines(folder, "run"))).items() if count > 1]
    assert not repeated


def size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def wait_for_growth(file: Path, beyond: int) -> None:
    wait_until(lambda: size(file) > beyond)


def wait_for_none(pids: Sequence[int]) -> None:
    wait_until(lambda: not any(map(runs, pids)))


def drivers_below(harness: int) -> list[int]:
    """The processes of the drivers, without their supervisors."""
    found = []
    for pid in descendants([harness]):
        with contextlib.suppress(psutil.Error):
            if psutil.Process(pid).name() != SUPERVISOR.name[:15]:
                found.append(pid)
    return found


_FORKER = """
import os, signal, sys
from taskgrain.cli import main as cli
from taskgrain.measure import runner, call as measure
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        cli.main(eval(line))
    print(pid, flush=True)
"""


class Forker:
    """Starts harnesses that have everything loaded already: real processes, quickly."""

    def __init__(self, environment: Mapping[str, str], errors: Path) -> None:
        self._errors = errors.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _FORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, env=dict(environment), text=True,
        )  # fmt: skip

    def start(self, words: Sequence[str]) -> int:
        """The process id of a new harness; nobody has to collect it."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{list(words)!r}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in [*descendants([self._process.pid]), self._process.pid]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self._process.communicate()
        self._errors.close()
