"""The systems of each suite that bench/programs.py runs, and the tables that show them.

A system is a command with the flags that it always gets. `{build}`, `{ranks}`, `{threads}` and two cores,
`{first}` and `{second}`, are filled in. Tables may share what they run: nothing runs twice in a round.
"""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from arguments import numbers

from taskgrain.machine.topology import choose_cores


class Entry(NamedTuple):
    """A row of a table: a system at a place."""

    panel: str
    x: float
    system: str
    command: tuple[str, ...]
    where: Mapping[str, object] = {}
    """The values that lines of the program have that belong to this row."""


class Table(NamedTuple):
    name: str
    title: str
    across: str
    """The meaning of x."""
    entries: list[Entry]
    logarithmic: bool = True


class Shape(NamedTuple):
    """The number of ranks, and of workers of each."""

    ranks: int
    threads: int

    def __str__(self) -> str:
        return f"{counted(self.ranks, 'rank')} × {self.threads}"


class Flag(NamedTuple):
    """Numbers that the command line may replace."""

    default: str
    read: Callable[[str], list[float]]


class Suite(NamedTuple):
    """Programs that are measured together."""

    systems: Mapping[str, str]
    tables: Callable[[Namespace], list[Table]]
    also: str
    """The field that the programs print beside their time."""
    flags: Mapping[str, Flag]
    preset: str = "release"
    target: str = "apps"


Place = tuple[object, float, Shape, Mapping[str, object]]
"""Panel, x, and what is run there."""
MPI = "mpirun -n {ranks} --bind-to none {build}/apps/"
# StarPU's thread for messages shares a core with a worker, so the one that waits must give way.
STARPU = f"env OMPI_MCA_mpi_yield_when_idle=1 {MPI}"
BOUND = "env OMP_PROC_BIND=true OMP_PLACES=cores {build}/"
OVERHEAD_SECONDS = 0.1
"""The seconds of each core, in a run of tasks without dependences."""
GRID_ROWS = 32


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"


def filled(o: Namespace, system: str, shape: Shape, *words: str) -> tuple[str, ...]:
    found = [*SUITES[o.suite].systems[system].split(), *words]
    first, *others = choose_cores(0)
    values = {"build": o.build, "first": first, "second": others[0] if others else first}
    return tuple(word.format(**values, **shape._asdict()) for word in found)


def rows(o: Namespace, places: Iterable[Place], systems: Sequence[str], *words: str) -> list[Entry]:
    """All systems at each place; `words` are flags that all get."""
    last = ("--threads", "{threads}", "--repeats", str(o.repeats + 1), *words)
    return [
        Entry(str(panel), x, one, filled(o, one, shape, *_flags(flags), *last))
        for panel, x, shape, flags in places
        for one in systems
    ]


def _flags(values: Mapping[str, object]) -> list[str]:
    return [word for name, value in values.items() for word in (f"--{name}", str(value))]


def matrices(o: Namespace) -> list[Table]:
    """Time against size and block, scaling, and random sizes of blocks."""
    block, most, small = o.block[0], max(o.sizes), sorted(o.sizes)[len(o.sizes) // 2]
    full = list(dict.fromkeys([Shape(o.cores, 1), Shape(1, o.cores)]))
    counts = list(dict.fromkeys([1, o.cores]))
    scaled = [*(("ranks", n, Shape(n, 1)) for n in counts), *(("workers", n, Shape(1, n)) for n in counts)]

    def weak(cores: int) -> int:
        """A size with as many operations for each core, in whole blocks."""
        return int(max(1, round(small * cores ** (1 / 3) / block)) * block)

    def table(name: str, title: str, across: str, places: Iterable[Place], **rest: Any) -> Table:
        entries = rows(o, places, rest.pop("systems", o.systems), "--validate")
        return Table(name, f"{o.suite}: {title}", across, entries, **rest)

    same = {"size": most, "block": block}
    found = [
        table("size", f"blocks of {block}", "size",
              [(shape, n, shape, same | {"size": n}) for shape in full for n in o.sizes]),
        table("block", f"matrices of {most}", "block",
              [(shape, n, shape, same | {"block": n}) for shape in full for n in o.blocks]),
        table("strong", f"strong scaling, matrices of {most}, blocks of {block}", "cores",
              [(panel, n, shape, same) for panel, n, shape in scaled], logarithmic=False),
        table("weak", f"weak scaling, matrices of {small} on one core, blocks of {block}", "cores",
              [(panel, n, shape, same | {"size": weak(n)}) for panel, n, shape in scaled], logarithmic=False),
    ]  # fmt: skip
    if "rhos" in o:
        title = f"random sizes of blocks, {block} on average, matrices of {most}"
        places = [(shape, rho, shape, same | {"rho": rho}) for shape in full for rho in o.rhos]
        uneven = [one for one in o.systems if one != "ScaLAPACK"]
        found.append(table("rho", title, "rho", places, systems=uneven, logarithmic=False))
    return found


def overhead(o: Namespace) -> list[Table]:
    """Tasks without dependences, and with many."""
    spins, least = o.spins, min(o.spins)
    shapes = [(counted(n, "thread"), Shape(1, n)) for n in dict.fromkeys([1, o.cores])]

    def enough(spin: float, threads: int) -> int:
        return max(1000, round(threads * OVERHEAD_SECONDS / ((spin + 0.2) * 1e-6)))

    independent = [
        (panel, spin, shape, {"spin": spin, "size": enough(spin, shape.threads)})
        for panel, shape in shapes
        for spin in spins
    ]
    grid = {"spin": least, "graph": "grid", "rows": GRID_ROWS, "columns": 400}
    many = [(panel, n, shape, grid | {"dependences": n}) for panel, shape in shapes for n in o.dependences]
    knows = [one for one in o.systems if one in ("taskgrain", "StarPU, task", "StarPU, STF")]
    title = f"overhead: tasks of {least:g} µs in a grid with many dependences"
    return [
        Table("independent", "overhead: tasks without dependences", "µs", rows(o, independent, o.systems)),
        Table("dependences", title, "dependences", rows(o, many, knows)),
    ]


def forks(o: Namespace) -> list[Table]:
    """Recursions whose calls do next to nothing, and loops, on one thread and on all."""
    problems = {"fib": o.fib[0], "queens": o.queens[0], "tree": o.tree[0], "sort": o.sort[0]}

    def table(name: str, title: str, across: str, places: Iterable[tuple[float, dict[str, object]]]) -> Table:
        found = list(places)
        entries = [
            one
            for threads in dict.fromkeys([1, o.cores])
            for x, flags in found
            for one in rows(o, [(counted(threads, "thread"), x, Shape(1, threads), flags)], o.systems)
        ]
        return Table(name, title, across, entries)

    return [
        *(
            table(one, f"forks: {one} of {size:g}", "size", [(size, {"problem": one, "size": round(size)})])
            for one, size in problems.items()
        ),
        table("loop", f"forks: a loop over {o.elements[0]:g} elements, by their time", "µs", [
            (spin, {"problem": "loop", "size": round(o.elements[0]), "spin": spin}) for spin in o.spins
        ]),
    ]  # fmt: skip


def producer(o: Namespace) -> list[Table]:
    """A thread makes many tasks that need nothing, and two threads run them. `ideal` knows no runtime."""
    words = {n: (str(n), str(o.tasks[0])) for n in o.turns}
    entries = [
        Entry("", n, one, filled(o, one, Shape(1, 2), *words[n])) for n in o.turns for one in o.systems
    ]
    title = f"one producer, {o.tasks[0]} tasks, two threads"
    return [Table("time", title, "turns", entries, logarithmic=False)]


def messages(o: Namespace) -> list[Table]:
    """Two ranks on two cores, and as the floor a cache line between two cores; times of a message."""
    sizes = [0, *(2**k for k in range(21))]
    own = {"cache line": [4], "task": [4]}

    def table(name: str, title: str) -> Table:
        return Table(name, title, "bytes", [
            Entry("", size, one, filled(o, one, Shape(2, 1)), {"system": one, "measure": name, "bytes": size})
            for size in sizes
            for one in o.systems
            if size in own.get(one, sizes) and (name == "latency" or one not in own)
        ])  # fmt: skip

    return [
        table("latency", "half of the time from a message to its answer"),
        table("rate", "time of a message in windows of 64, each of which is answered"),
    ]


def steps(least: Callable[[Namespace], float], o: Namespace) -> list[Table]:
    """Time of a step against the size, and strong scaling. Each rank, or each worker, has a block."""
    if min(o.sizes) < (low := math.ceil(least(o))):
        given = f"--cores {o.cores} and --points {o.points[0]:g}"
        raise ValueError(f"--sizes: {min(o.sizes)} is not allowed; allowed with {given}: {low} or more")

    def table(name: str, title: str, across: str, places: Iterable[tuple[float, int, int]]) -> Table:
        entries = []
        for x, cores, size in places:
            flags = {"size": size, "steps": max(20, round(o.points[0] / size ** o.dimensions[0]))}
            for one in o.systems:
                shape = Shape(cores, 1) if SUITES[o.suite].systems[one].startswith(MPI) else Shape(1, cores)
                entries += rows(o, [("", x, shape, flags)], [one])
        return Table(name, f"{o.suite}: {title}", across, entries)

    cores, small = counted(o.cores, "core"), sorted(o.sizes)[len(o.sizes) // 2]
    counts = dict.fromkeys([1, o.cores])
    return [
        table("size", f"time of a step on {cores}", "size", [(n, o.cores, n) for n in o.sizes]),
        table("strong", f"strong scaling, size {small}", "cores", [(n, n, small) for n in counts]),
    ]


def of_steps(
    problem: str,
    dimensions: int,
    default: str,
    sizes: tuple[int, int],
    least: Callable[[Namespace], float],
    points: str,
    **others: str,
) -> Suite:
    """A program that takes steps. A run has about so many `points`, in all its steps. The program allows
    `sizes`, and from `least` on."""
    tasks = f"{{build}}/apps/{problem}-sequence --mode "
    systems = {
        "MPI": f"{MPI}{problem}-mpi",
        "sequence, loop": f"{tasks}loop",
        "sequence, trace": f"{tasks}trace",
        "sequence, plain": f"{tasks}plain",
        **others,
    }
    flags = {
        "sizes": Flag(default, whole(*sizes)),
        "points": Flag(points, numbers(1, 10**9)),
        "dimensions": Flag(str(dimensions), whole(1, 3)),
    }
    return Suite(systems, partial(steps, least), "tasks", flags)


def least_of_cg(o: Namespace) -> float:
    """A block has 128 rows or more, and there are at most 8 steps for each row (apps/cg/poisson.hpp)."""
    return float(max(128 * (o.cores - 1) + 1, math.sqrt(o.points[0] / 8)))


whole = partial(numbers, whole=True)
ELEMENTS = whole(1, 2**20)
MATRICES = {
    "sizes": Flag("512,1024,2048", ELEMENTS),
    "blocks": Flag("32,64,128,256", ELEMENTS),
    "block": Flag("128", ELEMENTS),
}
MESSAGES = "{build}/bench/messages/taskgrain-messages-"
PAIR = "{build}/src/rt/taskgrain-run -n 2 --cores {first},{second} " + MESSAGES + "taskgrain"
PRODUCERS = ("taskgrain", "alone", "libgomp", "libomp", "onetbb")
SUITES = {
    "gemm": Suite(
        {
            "taskgrain, 2D, large": f"{MPI}gemm-taskgrain_2d --messages large",
            "taskgrain, 2D, small": f"{MPI}gemm-taskgrain_2d --messages small",
            "taskgrain, 3D": f"{MPI}gemm-taskgrain_3d",
            "StarPU": f"{STARPU}gemm-starpu",
            "ScaLAPACK": f"{MPI}gemm-scalapack",
        },
        matrices, "gflops", MATRICES,
    ),
    "cholesky": Suite(
        {
            "taskgrain": f"{MPI}cholesky-taskgrain",
            "StarPU": f"{STARPU}cholesky-starpu",
            "ScaLAPACK": f"{MPI}cholesky-scalapack",
        },
        matrices, "gflops", MATRICES | {"rhos": Flag("1,1.25,1.5,1.75,2", numbers(1, 2))},
    ),
    "overhead": Suite(
        {
            "taskgrain": "{build}/apps/overhead-taskgrain --insertion counted",
            "taskgrain, insertion apart": "{build}/apps/overhead-taskgrain --insertion apart",
            "OpenMP": f"{BOUND}apps/overhead-openmp",
            "StarPU, task": "{build}/apps/overhead-starpu --insertion counted --interface task",
            "StarPU, STF": "{build}/apps/overhead-starpu --insertion counted --interface stf",
        },
        overhead, "efficiency",
        {"spins": Flag("1,10,100", numbers(0, 10**6)), "dependences": Flag("1,4,16", whole(1, GRID_ROWS))},
    ),
    "forks": Suite(
        {
            "taskgrain": "{build}/apps/forks-taskgrain",
            "oneTBB": "{build}/apps/forks-tbb",
            "OpenMP": f"{BOUND}apps/forks-openmp",
            "serial": "{build}/apps/forks-serial",
        },
        forks, "result",
        {"fib": Flag("27", whole(1, 45)), "queens": Flag("10", whole(1, 16)),
         "tree": Flag("1e6", numbers(1, 10**9)), "sort": Flag("2e6", numbers(1, 10**9)),
         "elements": Flag("10000", numbers(1, 10**9)), "spins": Flag("0,2", numbers(0, 10**6))},
    ),
    "stencil": of_steps("stencil", 2, "32,64,128,256,512,1024", (5, 30000), lambda o: 2 * o.cores, "1e8"),
    "aero": of_steps("aero", 3, "4,8,16,32", (4, 128), lambda o: o.cores, "4e5"),
    "cg": of_steps(
        "cg", 1, "1000,3000,10000,30000,100000,300000,1000000,3000000", (32, 500_000_000), least_of_cg, "8e6",
        PETSc=f"{MPI}cg-petsc",
    ),
    "hydro": of_steps("hydro", 2, "8,16,32,64,128,256,512", (8, 2048), lambda o: o.cores, "1e6"),
    "producer": Suite(
        {name: f"{BOUND}bench/taskgrain-producer-{name}" for name in PRODUCERS},
        producer, "stolen",
        {"turns": Flag("0,300,1500,6000,30000,150000", whole(0, 10**9)),
         "tasks": Flag("100000", whole(2, 10**9))},
        "bench", "bench",
    ),
    "messages": Suite(
        {
            "mpi": "mpirun -n 2 --bind-to cpu-list:ordered --cpu-list {first},{second} " + MESSAGES + "mpi",
            "message": PAIR,
            "large": PAIR,
            "task": PAIR,
            "cache line": MESSAGES + "cache_line {first} {second}",
        },
        messages, "", {}, "bench", "bench",
    ),
}  # fmt: skip
