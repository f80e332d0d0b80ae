"""What is measured: programs on shapes of the machine, and the tables that show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Shape(NamedTuple):
    """How many ranks, and workers of each."""

    ranks: int
    threads: int

    def __str__(self) -> str:
        return f"{self.ranks} rank{'s' if self.ranks > 1 else ''} × {self.threads}"

    @property
    def cores(self) -> int:
        return self.ranks * self.threads


Flags = tuple[tuple[str, str], ...]


class System(NamedTuple):
    """A column of the tables: a program, and the flags that choose what it does."""

    title: str
    program: str
    flags: Flags = ()
    mpi: bool = True
    can: frozenset[str] = frozenset()
    """Flags that it knows beside those of all."""


@dataclass(frozen=True)
class Point:
    """One thing to run again and again. Experiments may share it."""

    system: System
    shape: Shape
    flags: Flags

    def arguments(self) -> list[str]:
        flags = (*self.system.flags, *self.flags, ("threads", str(self.shape.threads)))
        return [word for name, value in flags for word in (f"--{name}", value)]

    def __str__(self) -> str:
        flags = ", ".join(f"{name} {value}" for name, value in self.flags)
        return f"{self.system.title}, {self.shape}, {flags}"


class Entry(NamedTuple):
    panel: str
    x: float
    point: Point


@dataclass(frozen=True)
class Experiment:
    """A table and its plot."""

    name: str
    title: str
    across: str
    """What x is."""
    entries: list[Entry]
    logarithmic: bool = True


GEMM = (
    System("taskgrain, 2D, large", "gemm-taskgrain_2d", (("messages", "large"),)),
    System("taskgrain, 2D, small", "gemm-taskgrain_2d", (("messages", "small"),)),
    System("taskgrain, 3D", "gemm-taskgrain_3d"),
    System("StarPU", "gemm-starpu"),
    System("ScaLAPACK", "gemm-scalapack"),
)
CHOLESKY = (
    System("taskgrain", "cholesky-taskgrain", can=frozenset({"rho"})),
    System("StarPU", "cholesky-starpu", can=frozenset({"rho"})),
    System("ScaLAPACK", "cholesky-scalapack"),
)
COUNTED = (("insertion", "counted"),)
OVERHEAD = (
    System("taskgrain", "overhead-taskgrain", COUNTED, mpi=False, can=frozenset({"grid"})),
    System("taskgrain, insertion apart", "overhead-taskgrain", (("insertion", "apart"),), mpi=False),
    System("OpenMP", "overhead-openmp", mpi=False),
    System("StarPU, task", "overhead-starpu", (*COUNTED, ("interface", "task")), False, frozenset({"grid"})),
    System("StarPU, STF", "overhead-starpu", (*COUNTED, ("interface", "stf")), False, frozenset({"grid"})),
)
SYSTEMS = {"gemm": GEMM, "cholesky": CHOLESKY, "overhead": OVERHEAD}
SPIN_SECONDS = 0.1
"""Of each core in a run without dependences."""


def matrices(
    systems: Iterable[System],
    cores: int,
    sizes: list[int],
    blocks: list[int],
    block: int,
    rhos: list[float],
) -> list[Experiment]:
    """Time against size and block, scaling, and random sizes of blocks."""
    systems = list(systems)

    def entry(panel: object, x: float, system: System, shape: Shape, **flags: object) -> Entry:
        named = tuple((name, str(value)) for name, value in flags.items())
        return Entry(str(panel), x, Point(system, shape, named))

    full = list(dict.fromkeys([Shape(cores, 1), Shape(1, cores)]))
    scaled = [
        (panel, shape)
        for panel, last in (("ranks", Shape(cores, 1)), ("workers", Shape(1, cores)))
        for shape in dict.fromkeys([Shape(1, 1), last])
    ]
    most = max(sizes)
    small = sorted(sizes)[len(sizes) // 2]
    found = [
        Experiment(
            "size", f"blocks of {block}", "size",
            [entry(shape, size, one, shape, size=size, block=block)
             for shape in full for size in sizes for one in systems],
        ),
        Experiment(
            "block", f"matrices of {most}", "block",
            [entry(shape, each, one, shape, size=most, block=each)
             for shape in full for each in blocks for one in systems],
        ),
        Experiment(
            "strong", f"strong scaling, matrices of {most}, blocks of {block}", "cores",
            [entry(panel, shape.cores, one, shape, size=most, block=block)
             for panel, shape in scaled for one in systems],
            logarithmic=False,
        ),
        Experiment(
            "weak", f"weak scaling, matrices of {small} on one core, blocks of {block}", "cores",
            [entry(panel, shape.cores, one, shape, size=weak_size(small, shape.cores, block), block=block)
             for panel, shape in scaled for one in systems],
            logarithmic=False,
        ),
    ]  # fmt: skip
    uneven = [one for one in systems if "rho" in one.can]
    if rhos and uneven:
        found.append(
            Experiment(
                "rho", f"random sizes of blocks, {block} on average, matrices of {most}", "rho",
                [entry(shape, rho, one, shape, size=most, block=block, rho=rho)
                 for shape in full for rho in rhos for one in uneven],
                logarithmic=False,
            )
        )  # fmt: skip
    return found


def weak_size(size: int, cores: int, block: int) -> int:
    """As many operations for each core, in whole blocks."""
    return max(1, round(size * cores ** (1 / 3) / block)) * block


def overhead(
    systems: Iterable[System], cores: int, spins: list[float], dependences: list[int]
) -> list[Experiment]:
    """Tasks without dependences, and with many."""
    systems = list(systems)
    threads = list(dict.fromkeys([1, cores]))

    def entry(spin: float, x: float, system: System, number: int, flags: Mapping[str, object]) -> Entry:
        named = tuple((name, str(value)) for name, value in {"spin": spin, **flags}.items())
        return Entry(f"{number} thread{'s' if number > 1 else ''}", x, Point(system, Shape(1, number), named))

    def enough(spin: float, number: int) -> int:
        return max(1000, round(number * SPIN_SECONDS / ((spin + 0.2) * 1e-6)))

    many = {"graph": "grid", "rows": 32}
    return [
        Experiment(
            "independent", "tasks without dependences", "spin",
            [entry(spin, spin, one, number, {"size": enough(spin, number)})
             for number in threads for spin in spins for one in systems],
        ),
        Experiment(
            "dependences", f"tasks of {min(spins):g} µs in a grid with many dependences", "dependences",
            [entry(min(spins), each, one, number, {**many, "columns": 400, "dependences": each})
             for number in threads for each in dependences for one in systems if "grid" in one.can],
        ),
    ]  # fmt: skip
