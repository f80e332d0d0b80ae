"""Runs programs in turn, and keeps what they print."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments import Point

Line = dict[str, Any]
# Ranks may share cores with what else runs there, and containers have no other user than root.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OPENBLAS_NUM_THREADS": "1",  # or it starts threads before a program says how many it wants
}
# StarPU's thread for messages shares a core with a worker, so the one that waits must give way.
STARPU = {"OMPI_MCA_mpi_yield_when_idle": "1"}
BOUND = {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
MOST_ERROR = 1e-13
"""For each row of the matrix."""
LOOK_SECONDS = 0.5
"""An interrupt that comes just before a wait begins does not end it, and is seen at its end."""


class Refused(Exception):
    """A program cannot do this; it says why."""


class Failed(Exception):
    """A program crashed, took too long, or computed something wrong."""


def command(point: Point, programs: Path, repeats: int) -> list[str]:
    own = [str(programs / point.system.program), *point.arguments(), "--repeats", str(repeats)]
    if not point.system.mpi:
        return own
    return ["mpirun", "-n", str(point.shape.ranks), "--bind-to", "none", *own, "--validate"]


def finish(process: subprocess.Popen[str], seconds: float) -> tuple[str, str]:
    """What it writes until it ends, as `communicate` has it, but in short waits."""
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        try:
            return process.communicate(timeout=min(LOOK_SECONDS, left))
        except subprocess.TimeoutExpired:
            if left <= LOOK_SECONDS:
                raise


def run(words: list[str], seconds: float) -> list[Line]:
    """The lines that a program prints. Ctrl-C and the end of its time end all its processes."""
    environment = os.environ | ENVIRONMENT
    if any("openmp" in word for word in words):
        environment |= BOUND
    if any(word.endswith("-starpu") for word in words):
        environment |= STARPU
    try:
        process = subprocess.Popen(
            words,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise Refused(f"there is no {error.filename}") from None
    try:
        output, said = finish(process, seconds)
    except BaseException as error:
        # mpirun ends its ranks when it is asked to, and leaves them behind when it is killed.
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Failed(f"it did not end within {seconds:g} s") from None
        raise
    if process.returncode == 2:
        why = next((line for line in said.splitlines() if "is not allowed" in line), said.strip())
        raise Refused(why.split(": ", 1)[-1])
    if process.returncode != 0:
        raise Failed(f"exit code {process.returncode}\n{output}\n{said}")
    try:
        lines: list[Line] = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    except json.JSONDecodeError:
        raise Failed(f"it prints no JSON\n{output}") from None
    for line in lines:
        wrong, most = line["error"], MOST_ERROR * line["size"]
        if wrong is not None and not wrong <= most:
            raise Failed(f"its result is wrong: error {wrong:g}, allowed {most:g}")
    if not lines:
        raise Failed(f"it prints nothing\n{said}")
    return lines


@dataclass
class Measured:
    """What was found, as far as it goes."""

    rounds: dict[Point, list[list[Line]]] = field(default_factory=dict)
    """The lines of each round, without those that warm up."""
    refused: dict[Point, str] = field(default_factory=dict)
    failed: dict[Point, str] = field(default_factory=dict)
    interrupted: bool = False


def measure(
    points: Iterable[Point],
    programs: Path,
    rounds: int,
    repeats: int,
    seconds: float,
    keep: Callable[[Line], None],
    tell: Callable[[str], None] = lambda _: None,
) -> Measured:
    """Every round runs every point once, systems in turn, and turns the order round.

    A run repeats, and the first repeat warms up. What fails once is not run again.
    """
    found = Measured()
    # What differs only in its system comes one after another.
    ordered = sorted(dict.fromkeys(points), key=lambda point: (point.shape, point.flags))
    try:
        for number in range(rounds):
            for position, point in enumerate(ordered if number % 2 == 0 else reversed(ordered)):
                if point in found.refused or point in found.failed:
                    continue
                tell(f"round {number + 1} of {rounds}, {position + 1} of {len(ordered)}: {point}")
                try:
                    lines = run(command(point, programs, repeats + 1), seconds)
                except Refused as error:
                    found.refused[point] = str(error)
                except Failed as error:
                    found.failed[point] = str(error)
                else:
                    for line in lines:
                        keep({"title": point.system.title, "round": number, **line})
                    found.rounds.setdefault(point, []).append(lines[1:])
    except KeyboardInterrupt:
        found.interrupted = True
    return found
