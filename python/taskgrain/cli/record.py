"""`taskgrain record`: runs a program, and writes the graph of the tasks that OpenMP's runtime executes."""

from __future__ import annotations

import glob
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from ctypes.util import find_library
from pathlib import Path
from typing import Annotated

import typer

from taskgrain.cli.notes import note
from taskgrain.machine.busy import BUSY_SHARE, BusyWatch
from taskgrain.words import quantity
from taskgrain.words.errors import InputError, TaskgrainError, UsageError, check_writable

_MOST_TASKS = "about two million"
"""`most_events` of src/record/event.hpp, in tasks."""
_LLVM = re.compile(r"\blib(omp|iomp)\d*[.-]")
"""The names of LLVM's runtime, and of Intel's, which is the same, among the libraries of a program."""
_GCC = "libgomp"
_CRASHES = (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV)
_MOVED = 1 << 32
"""A program that lies above this address was moved there when it started, and its file begins at 0."""


def record(
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- PROGRAM [ARGUMENTS]...", help="The program, and what it is given."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File for the graph.", show_default=True)
    ] = Path("graph.json"),
) -> None:
    """Runs an OpenMP program and writes the graph of its tasks, with their durations, for `graph --from`."""
    program = shutil.which(command[0])
    if program is None:
        raise InputError("PROGRAM", command[0], "a program that can be started here")
    if output.exists() and output.samefile(program):
        raise InputError("--output", str(output), "another file than the program")
    check_writable("--output", output)
    linked = _linked(program)
    with tempfile.TemporaryDirectory(prefix="taskgrain-record-") as folder:
        environment = _environment(program, linked, folder)
        cores = os.sched_getaffinity(0)
        watch, used, start = BusyWatch(cores), _used(), time.monotonic()
        code = _run(command, environment)
        busy, lasted = watch.end((), _used() - used).share, time.monotonic() - start
        ends = sorted(Path(folder).glob("*.end"), key=lambda one: _events(one).stat().st_size)
        begun = [*Path(folder).glob("*.events")]
        if code:
            how = f"by signal {-code}" if code < 0 else f"with {code}"
            note(f"{command[0]} has ended {how}" + ("" if ends else "; nothing is written"))
            if -code in _CRASHES and _GCC in linked:
                note(
                    "if it does not so by itself, compile it with clang++: LLVM's runtime cannot execute all "
                    "code of GCC"
                )
        if ends:
            if len(begun) > 1:
                note(
                    f"{len(begun)} processes have used OpenMP; the graph is that of the one with most events"
                )
            waited = _write(ends[-1], output, shlex.join(command))
            if busy > BUSY_SHARE and waited > BUSY_SHARE * lasted * len(cores):
                note(
                    f"others used {quantity.percent(busy)} of the cores' time, and its threads waited "
                    f"{quantity.seconds(waited, 2)} for cores, which durations contain: record it again on a "
                    "quiet machine"
                )
        elif not code:
            why = "has not used OpenMP (-fopenmp), or its runtime knows no tools, as that of a static program"
            if begun:
                why = "has used OpenMP, but did not end by return or exit, or the disk is full"
            raise TaskgrainError(f"{command[0]} {why}; nothing is written")
    raise typer.Exit(128 - code if code < 0 else code)


def _events(end: Path) -> Path:
    return end.with_suffix(".events")


def _environment(program: str, linked: str, folder: str) -> dict[str, str]:
    """The variables of the program: the user's, and those that make its runtime load the tool."""
    from taskgrain.drive.catalogue import package_folder

    tool = package_folder() / "bin" / "taskgrain-record.so"
    if not tool.is_file():
        raise UsageError(f"{tool}: is missing; build the project (make setup)")
    added = {"OMP_TOOL_LIBRARIES": str(tool), "LD_PRELOAD": _preload(program, linked)}
    before = {name: [os.environ[name]] if os.environ.get(name) else [] for name in added}
    lists = {name: ":".join([*before[name], one]) for name, one in added.items() if one}
    return {**os.environ, **lists, "OMP_TOOL": "enabled", "TASKGRAIN_RECORD": folder}


def _preload(program: str, linked: str) -> str:
    """LLVM's runtime, for a program that has not linked it itself: GCC's knows no tools, and LLVM's has its
    entries, too. Raises `UsageError` if it is needed, and not there."""
    if _LLVM.search(linked):
        return ""
    found = _llvm_runtime()
    if _GCC in linked:
        if not found:
            raise UsageError(
                f"{program} is linked with GCC's OpenMP runtime, which tells a tool nothing, and LLVM's, "
                "which can execute it, is missing: apt-get install libomp5-19, or dnf install libomp"
            )
        note(f"GCC's OpenMP runtime tells no tool what it does; the program runs on LLVM's ({found}) instead")
    return found


def _linked(program: str) -> str:
    """The libraries of a program, if the machine can list them."""
    try:
        return subprocess.run(["ldd", program], capture_output=True, text=True, errors="replace").stdout
    except OSError:
        return ""


def _llvm_runtime() -> str:
    beside = sorted(glob.glob("/usr/lib*/llvm*/lib*/libomp.so*"))
    return find_library("omp") or (beside[-1] if beside else "")


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    """Runs the program to its end. Ctrl-C reaches it from the terminal; other signals are passed on."""
    sys.stdout.flush()
    running: list[subprocess.Popen[bytes]] = []

    def handle(number: int, frame: object) -> None:
        if number != signal.SIGINT and running:
            running[0].send_signal(number)

    passed = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heeded = [one for one in passed if signal.getsignal(one) is not signal.SIG_IGN]  # not under nohup
    before = {one: signal.signal(one, handle) for one in heeded}
    try:
        running.append(subprocess.Popen(command, env=environment))
        return running[0].wait()
    except OSError as error:
        raise InputError(
            "PROGRAM", command[0], f"a program that can be started ({error.strerror})"
        ) from error
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _used() -> float:
    """Seconds of processors that programs used which have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def _write(end: Path, output: Path, program: str) -> float:
    """Writes the graph. Returns the seconds that threads waited for processors, as far as anybody knows."""
    from taskgrain._core import fold_recording
    from taskgrain.graphs import graph_file
    from taskgrain.graphs.task_graph import TaskGraph
    from taskgrain.results import whole_file

    (tick, whole, waited), *maps = (
        line.split(maxsplit=5) for line in end.read_text(errors="replace").splitlines()
    )
    if whole != "1":
        raise TaskgrainError(
            f"there are more tasks than can be recorded, {_MOST_TASKS}: give the program less work; "
            "nothing is written"
        )
    kinds, named, seconds, before = fold_recording(str(_events(end)), float(tick))
    if not named:
        raise TaskgrainError("the program has executed no task of a microsecond or more; nothing is written")
    places = _places({address for _, address in kinds if address}, maps)
    if {kind for kind, _ in kinds} == {"main"}:
        raise TaskgrainError(f"{program} has executed no task and no parallel region; nothing is written")
    names = [f"{kind} {places[address]}" if address else kind for kind, address in kinds]
    durations = [round(one, 10) for one in seconds]
    graph = TaskGraph(
        [names[one] for one in named], before, durations, [1.0] * len(named), 0, "s", "", program
    )
    whole_file.write(output, graph_file.stored(graph, output))
    tasks = sum(kinds[one][0] in ("task", "chunk") for one in named)
    loops, around = (
        sum(took for one, took in zip(named, seconds, strict=True) if kinds[one][0] == kind)
        for kind in ("chunk", "region")
    )
    cut = "cut for its threads: record it with as many as the cores that you ask about"
    if loops > 0.5 * sum(seconds):
        note(f"most of its time is in loops, which are {cut}")
    elif around > 0.5 * sum(seconds):  # GCC's loops with a static schedule are among it
        note(f"most of its time is in parallel regions, outside of tasks; if that is a loop, it is {cut}")
    note(
        f"{quantity.counted(tasks, 'task')}, and {quantity.counted(len(named) - tasks, 'part')} of the code "
        f"around; {output} is written: taskgrain graph --from {shlex.quote(str(output))}"
    )
    return float(waited)


def _places(addresses: set[int], maps: Sequence[Sequence[str]]) -> dict[int, str]:
    """The function and line of code at each address where the program says them; else the file and the place
    in it. `maps` is /proc/self/maps."""
    found: dict[int, str] = {}
    begins: dict[str, int] = {}
    files: dict[str, dict[int, int]] = {}
    for words in maps:
        first, last = (int(one, 16) for one in words[0].split("-"))
        path = words[5] if len(words) > 5 else ""
        begin = begins.setdefault(path, first)
        for address in addresses:
            if first <= address < last and path.startswith("/"):
                files.setdefault(path, {})[address] = address - (begin if begin >= _MOVED else 0)
    for path, places in files.items():
        lines = _lines(path, places.values())
        for (address, place), line in zip(places.items(), lines, strict=True):
            found[address] = line or f"{Path(path).name}+{place:#x}"
    return {address: found.get(address, f"{address:#x}") for address in addresses}


def _lines(path: str, places: Collection[int]) -> list[str]:
    """Function and line of each place, from addr2line of the binutils, or nothing."""
    words = [
        "addr2line",
        "-f",
        "-C",
        "-e",
        path,
        *(hex(one - 1) for one in places),
    ]  # the call, not the return
    try:
        said = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return [""] * len(places)
    lines = said.splitlines()
    found = []
    for function, line in zip(lines[::2], lines[1::2], strict=False):
        name = re.sub(r"\s*(\[clone )?\.?_?omp_(fn|outlined|task_entry).*", "", function).strip("?")
        place = Path(line.partition(" ")[0]).name
        found.append(" ".join([name] * bool(name) + [f"({place})"] * ("?" not in place)))
    return found if len(found) == len(places) else [""] * len(places)
