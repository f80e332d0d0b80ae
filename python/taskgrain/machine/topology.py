"""The processors of this machine, as Linux describes them under /sys; what it does not tell is left out."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from taskgrain.words import numbers
from taskgrain.words.errors import InputError

_CPUS = Path("/sys/devices/system/cpu")
_NODES = Path("/sys/devices/system/node")


def read_text(path: Path) -> str:
    """A small file of the kernel, stripped; empty if it cannot be read."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def parse_list(text: str) -> list[int]:
    """The kernel's lists: `0-3,8` is 0 1 2 3 8."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if match:
            found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return found


@dataclass(frozen=True)
class Topology:
    """Processors by number, of those this process may use."""

    available: tuple[int, ...]
    """One per physical core first, the other hardware threads of the same cores after them."""
    physical_cores: int
    sockets: int
    siblings: tuple[tuple[int, ...], ...]
    """Hardware threads that share a core; empty without SMT."""
    numa: dict[int, tuple[int, ...]]


def topology() -> Topology:
    """Reads it."""
    mine = sorted(os.sched_getaffinity(0))
    threads: dict[int, tuple[int, ...]] = {}
    packages: set[str] = set()
    for cpu in mine:
        folder = _CPUS / f"cpu{cpu}" / "topology"
        threads[cpu] = tuple(parse_list(read_text(folder / "thread_siblings_list"))) or (cpu,)
        packages.add(read_text(folder / "physical_package_id"))

    def rank(cpu: int) -> int:
        usable = [one for one in threads[cpu] if one in threads]
        return usable.index(cpu) if cpu in usable else 0

    numa = {
        int(folder.name[4:]): tuple(parse_list(read_text(folder / "cpulist")))
        for folder in sorted(_NODES.glob("node[0-9]*"))
    }
    return Topology(
        available=tuple(sorted(mine, key=lambda cpu: (rank(cpu), cpu))),
        physical_cores=sum(rank(cpu) == 0 for cpu in mine),
        sockets=len(packages),
        siblings=tuple(sorted({group for group in threads.values() if len(group) > 1})),
        numa=numa,
    )


def choose_cores(
    count: int, available: Sequence[int] | None = None, *, named: str = "--cores"
) -> tuple[int, ...]:
    """The processors of a measurement on `count` cores; 0 means all physical ones.

    Raises `InputError` for more than there are; `named` is what it calls them.
    """
    if available is None:
        machine = topology()
        available = machine.available
        if count == 0:
            count = machine.physical_cores
    count = count or len(available)
    if not 1 <= count <= len(available):
        raise InputError(
            named, count, f"1 to {len(available)}, what this process may use (0: all physical cores)"
        )
    return tuple(available[:count])


def caches() -> list[dict[str, object]]:
    """The caches of the first processor: level, type, size in bytes, and the processors that share it."""
    found: list[dict[str, object]] = []
    first = min(os.sched_getaffinity(0))
    for folder in sorted((_CPUS / f"cpu{first}" / "cache").glob("index[0-9]*")):
        size = read_text(folder / "size")
        found.append(
            {
                "level": int(read_text(folder / "level") or 0),
                "type": read_text(folder / "type").lower(),
                "bytes": numbers.size(size, "cache") if re.fullmatch(r"\d+[KMG]?", size) else None,
                "line_bytes": int(read_text(folder / "coherency_line_size") or 0),
                "shared_by": parse_list(read_text(folder / "shared_cpu_list")),
            }
        )
    return found


def frequency() -> dict[str, object]:
    """Governor and clock limits (Hz) of the first processor, where the kernel tells."""
    folder = _CPUS / f"cpu{min(os.sched_getaffinity(0))}" / "cpufreq"
    facts: dict[str, object] = {}
    for name in ("scaling_governor", "scaling_driver"):
        if value := read_text(folder / name):
            facts[name.removeprefix("scaling_")] = value
    for name in ("cpuinfo_min_freq", "cpuinfo_max_freq", "scaling_cur_freq"):
        if (value := read_text(folder / name)).isdigit():
            facts[name.split("_", 1)[1].replace("freq", "hertz")] = int(value) * 1000
    for path, value_off in ((_CPUS / "intel_pstate/no_turbo", "1"), (_CPUS / "cpufreq/boost", "0")):
        if value := read_text(path):
            facts["turbo"] = value != value_off
    return facts
