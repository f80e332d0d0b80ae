"""METG(50 %) of this project's drivers against Task Bench's own, side by side in one run.

    python bench/versus_task_bench.py CHECKOUT [--systems mpi,openmp_task] [--rounds 9]

CHECKOUT is a built Task Bench; PROGRAMS says which of its programs stands for which system and how it is
launched: as its authors' scripts do it, but in one process where they had nodes and with no core left to the
system itself. A system that is not set up, or whose program is not there, is skipped. Both sides run the same
graphs, with the same number of steps, on the same cores. Both check their inputs, and each is timed as it
times itself. A graph has --steps steps, or as many as the slower side executes in about --seconds if these
are fewer. How the two are compared is said in side_by_side.py.

Task Bench's programs are processes of their own for each run: start-up is not timed, nor warmed up but by
Charm++, Legion, Spark and TensorFlow, which execute everything twice and time the second. The one for Charm++
does not execute the last step, and calls the next task of a point by itself where there is none to wait for.
The one for StarPU takes five inputs at most; the one for Spark fails on dom and spread, the one for Legion on
dom and tree. TensorFlow's makes every output a NumPy array.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import re
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from side_by_side import CORES, Case, Own, Quietly, affordable, at_least_one, case, compare, quiet_reference

from taskgrain.drive.catalogue import discover
from taskgrain.drive.launch.launch import Launch

PATTERNS = (
    *(
        "trivial:1",
        "trivial:8",
        "no_comm:8",
        "stencil_1d:1",
        "stencil_1d:8",
        "dom:8",
        "tree:8",
        "fft:1",
        "fft:8",
    ),
    *("all_to_all:1", "all_to_all:8", "nearest:1", "nearest:8", "spread:8", "random_nearest:8"),
)
"""Pattern and tasks per core."""


@dataclass(frozen=True)
class Program:
    """A program of Task Bench. The words in braces are those of `places`."""

    file: str
    command: str
    env: Mapping[str, str] = field(default_factory=dict)
    service: str = ""
    """What must be there before it runs; stopped while it does not run."""


PROGRAMS = {
    "mpi": Program("mpi/nonblock", "mpirun -n {cores} --bind-to core {program}"),
    "openmp_task": Program("openmp/main", "{program} -worker {cores}"),
    # So many workers, besides the thread that submits and that of StarPU's MPI. If bound, that one shares the
    # core of a polling worker, and start-up takes many seconds.
    "starpu": Program("starpu/main", "{program} -core {cores} -p 1 -field 2", env={"STARPU_MPI_NOBIND": "1"}),
    "charmpp": Program("charm++/benchmark", "{program} +p{cores} +pemap {list}"),
    "legion": Program(
        "legion/task_bench",
        "{program} -fields 2 -ll:cpu {cores} -ll:util 0 -dm:memoize -lg:parallel_replay {cores}",
    ),
    "realm": Program("realm/task_bench", "{program} -ll:cpu {cores} -ll:util 0"),
    "tensorflow": Program(
        "tensorflow/task_bench.py",
        "{python} {program}",
        {"LD_LIBRARY_PATH": "{checkout}/core:{checkout}/tensorflow/ops"},
    ),
    # The paper's: scheduler and workers of one thread are processes that stay, and each run is a client.
    "dask": Program(
        "dask/task_bench_direct.py",
        "{python} {program} -scheduler tcp://127.0.0.1:{port} -expect-workers {cores}",
        {
            "PYTHONPATH": "{checkout}/dask",
            "LD_LIBRARY_PATH": "{checkout}/core",
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "None",
        },
        "{python} -m distributed.cli.dask_scheduler --host 127.0.0.1 --port {port} --no-dashboard & "
        "{python} -m distributed.cli.dask_worker tcp://127.0.0.1:{port} --nthreads 1 --nworkers {cores} "
        "--no-dashboard & wait",
    ),
    # One process. From the variables of Slurm it works out how many partitions there are: one for each core.
    "spark": Program(
        "spark/taskbench.jar",
        "{pyspark}/bin/spark-submit --class Main --master local[{cores}] "
        "--files {checkout}/spark/libcore_c.so {program}",
        {
            "SPARK_HOME": "{pyspark}",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "LD_LIBRARY_PATH": "{checkout}/spark",
            "SLURM_JOB_NUM_NODES": "2",
            "SLURM_CPUS_ON_NODE": "{slurm}",
        },
    ),
}


def places(checkout: Path, python: str) -> dict[str, str]:
    """What the words in braces stand for."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    pyspark = importlib.util.find_spec("pyspark")
    return {
        "checkout": str(checkout),
        "cores": str(len(CORES)),
        "list": ",".join(map(str, CORES)),
        "python": python,
        "port": str(port),
        "pyspark": str(Path(pyspark.origin).parent) if pyspark and pyspark.origin else "",
        "slurm": str(2 * (len(CORES) + 2)),
    }


class TaskBench:
    """A program of Task Bench: a process a run, the median of three; one, if that takes over a second."""

    def __init__(self, program: Program, launch: Launch, words: Mapping[str, str]) -> None:
        words = {**words, "program": f"{words['checkout']}/{program.file}"}
        pinned = ["taskset", "--cpu-list", words["list"]]
        self.command = [*pinned, *shlex.split(program.command.format_map(words))]
        own = {name: value.format_map(words) for name, value in program.env.items()}
        self.env = os.environ | launch.env | own
        self.service: subprocess.Popen[bytes] | None = None
        if program.service:
            self.service = subprocess.Popen(
                [*pinned, "sh", "-c", program.service.format_map(words)],
                env=self.env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def seconds(self, case: Case, iterations: int) -> float:
        graph = case.workload
        words = ["-steps", case.steps, "-width", graph.width]
        words += ["-type", graph.pattern, "-radix", graph["radix"]]
        words += ["-kernel", "compute_bound", "-iter", iterations]
        command = [*self.command, *map(str, words)]
        self._signal(signal.SIGCONT)
        try:
            begin = time.monotonic()
            found = [self._once(command)]
            if time.monotonic() - begin < 1:
                found += [self._once(command), self._once(command)]
        finally:
            self._signal(signal.SIGSTOP)
        return statistics.median(found)

    def _once(self, command: Sequence[str]) -> float:
        run = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        found = re.search(r"^Elapsed Time ([0-9.e+-]+)", run.stdout, re.MULTILINE)
        if found is None:
            raise RuntimeError((run.stderr or run.stdout).strip()[-200:])
        return float(found.group(1))

    def _signal(self, number: int) -> None:
        if self.service:
            os.killpg(self.service.pid, number)

    def close(self) -> None:
        self._signal(signal.SIGKILL)
        if self.service:
            self.service.wait()


def system_names(text: str) -> list[str]:
    """Systems of a list with commas. Raises `ArgumentTypeError`."""
    for name in text.split(","):
        if name not in PROGRAMS:
            raise argparse.ArgumentTypeError(f"'{name}' is not compared; allowed: {', '.join(PROGRAMS)}")
    return text.split(",")


def positive(text: str) -> float:
    """A number above 0. Raises `ArgumentTypeError`."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return value


def cases(text: str) -> list[tuple[str, int]]:
    """Patterns, each with its tasks per core. Raises `ArgumentTypeError`."""
    found = [one.partition(":") for one in text.split(",")]
    if not all(pattern and per_core for pattern, _, per_core in found):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no list of pattern:tasks per core, with commas between"
        )
    return [(pattern, at_least_one(per_core)) for pattern, _, per_core in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a built Task Bench")
    parser.add_argument("--systems", type=system_names, default="mpi,openmp_task", help="with commas between")
    parser.add_argument(
        "--patterns",
        type=cases,
        default=",".join(PATTERNS),
        help="pattern:tasks per core, with commas",
    )
    parser.add_argument("--rounds", type=at_least_one, default=9)
    parser.add_argument("--steps", type=at_least_one, default=1000, help="at most")
    parser.add_argument("--attempts", type=at_least_one, default=3, help="of a disturbed run")
    parser.add_argument("--seconds", type=positive, default=1.0, help="of the smallest tasks of a run, about")
    parser.add_argument(
        "--python", default=sys.executable, help="one with what Task Bench's programs in Python need (cffi)"
    )
    options = parser.parse_args()
    # What was started is then stopped.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    words = places(options.checkout.resolve(), options.python)
    print(f"{'system':12} {'pattern':20} per core  steps  METG ns: own, Task Bench's   ratio (95 % interval)")
    with quiet_reference() as (reference, watch):
        for name in options.systems:
            system, program = discover([])[name], PROGRAMS[name]
            missing = [*system.probe().missing]
            if not (options.checkout / program.file).exists():
                missing.append(f"{options.checkout / program.file}")
            if missing:
                print(f"{name:12} skipped, for there is no {', '.join(missing)}", flush=True)
                continue
            launch = system.launch(CORES)
            with (
                closing(Own(launch, Path(os.devnull))) as own,
                closing(TaskBench(program, launch, words)) as other,
            ):
                sides = (Quietly(own, watch, options.attempts), Quietly(other, watch, options.attempts))
                for pattern, per_core in options.patterns:
                    wanted = case(pattern, per_core, options.steps)
                    try:
                        wanted = affordable(sides, wanted, options.seconds)
                        own.repeats = 3 if wanted.steps == options.steps else 1
                        found = compare(sides, wanted, reference, options.rounds)
                    except RuntimeError as error:
                        found = f"Task Bench failed: {error}"
                    disturbed = sum(side.disturbed for side in sides)
                    row = f"{name:12} {pattern:20} {per_core:>8} {wanted.steps:6}  {found}"
                    print(f"{row}   {disturbed} disturbed", flush=True)


if __name__ == "__main__":
    main()
