"""The processors of this machine, as Linux describes them under /sys; what it does not tell is left out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from taskgrain.machine import clock
from taskgrain.machine.cgroups import cpu_limit
from taskgrain.machine.kernel_files import read_text
from taskgrain.words import numbers
from taskgrain.words.errors import InputError
from taskgrain.words.warnings import Notice, notice

_CPUS = Path("/sys/devices/system/cpu")
_INTEL = Path("/sys/devices")
_OF_INTEL = {"cpu_core": "performance", "cpu_atom": "efficiency", "cpu_lowpower": "low power"}
"""The folders of hybrid processors, the fastest cores first; see perf-intel-hybrid(1)."""
_SLOWER = 0.9
"""Cores of one kind may differ by less: some processors clock their best cores a little higher."""
_NODES = Path("/sys/devices/system/node")
MOST_CORES = 2**20
"""No node has more."""


def parse_list(text: str) -> list[int]:
    """The kernel's lists: `0-3,8` is 0 1 2 3 8."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if match:
            found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return found


def as_list(cpus: Iterable[int]) -> str:
    """Returns the text that `parse_list` reads, for some processors."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and runs[-1][-1] == cpu - 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(f"{one[0]}-{one[-1]}" if len(one) > 1 else str(one[0]) for one in runs)


@dataclass(frozen=True)
class Topology:
    """Processors by number, of those this process may use."""

    available: tuple[int, ...]
    """One per physical core first, the fastest cores first, and the other hardware threads of the same cores
    after them."""
    physical_cores: int
    sockets: int
    siblings: tuple[tuple[int, ...], ...]
    """Hardware threads that share a core; empty without SMT."""
    numa: dict[int, tuple[int, ...]]
    kinds: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Names and processors of the kinds of core, the fastest first; empty where all are of one."""

    def kind_of(self, cpu: int) -> int:
        """The kind of a processor, by its place in `kinds`."""
        return next((index for index, (_, cpus) in enumerate(self.kinds) if cpu in cpus), 0)

    @property
    def default(self) -> tuple[int, ...]:
        """One processor of each core of the fastest kind."""
        return tuple(one for one in self.available[: self.physical_cores] if self.kind_of(one) == 0)


def topology() -> Topology:
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
    kinds = _kinds(mine)
    slower = {cpu: index for index, (_, cpus) in enumerate(kinds) for cpu in cpus}
    return Topology(
        available=tuple(sorted(mine, key=lambda cpu: (rank(cpu), slower.get(cpu, 0), cpu))),
        physical_cores=sum(rank(cpu) == 0 for cpu in mine),
        sockets=len(packages),
        siblings=tuple(sorted({group for group in threads.values() if len(group) > 1})),
        numa=numa,
        kinds=kinds,
    )


def _kinds(mine: Sequence[int]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The kinds of core of some processors: as Intel's hybrid processors name them, or by what the kernel
    says of each one's capacity or highest clock."""
    named = {
        name: tuple(cpu for cpu in parse_list(read_text(_INTEL / folder / "cpus")) if cpu in mine)
        for folder, name in _OF_INTEL.items()
    }
    found = tuple((name, cpus) for name, cpus in named.items() if cpus)
    for file, unit, text in (
        ("cpu_capacity", 1, "capacity {:g}"),
        ("cpufreq/cpuinfo_max_freq", 1e6, "up to {:g} GHz"),
    ):
        if len(found) > 1:
            break
        told = {cpu: read_text(_CPUS / f"cpu{cpu}" / file) for cpu in mine}
        if all(value.isdigit() for value in told.values()):
            groups: list[list[int]] = []
            for cpu in sorted(mine, key=lambda cpu: (-int(told[cpu]), cpu)):
                if not groups or int(told[cpu]) < _SLOWER * int(told[groups[-1][0]]):
                    groups.append([])
                groups[-1].append(cpu)
            found = tuple((text.format(int(told[one[0]]) / unit), tuple(sorted(one))) for one in groups)
    return found if len(found) > 1 else ()


def choose_cores(count: int, *, named: str = "--cores", simulated: bool = False) -> tuple[int, ...]:
    """The processors of a measurement on `count` cores; 0 means one hardware thread of each core of the
    fastest kind, and no more cores than the control group's quota keeps busy.

    Raises `InputError` for more than there are, or than any machine has, if they are `simulated` or those of
    another machine; `named` is what it calls them.
    """
    if simulated and count:
        if count > MOST_CORES:
            raise InputError(named, count, f"1 to {MOST_CORES} (0: the default)")
        return tuple(range(count))
    machine = topology()
    if count == 0:
        limit = cpu_limit()
        count = len(machine.default) if limit is None else max(1, min(len(machine.default), int(limit)))
    most = len(machine.available)
    if not 1 <= count <= most:
        raise InputError(named, count, f"1 to {most}, what this process may use (0: the default)")
    return machine.available[:count]


def notices(cores: Sequence[int]) -> list[Notice]:
    """Warns of a measurement on these processors: the quota stops it, they are of several kinds, a container
    does not list them, or the clock is slow."""
    found, limit = clock.notices(), cpu_limit()
    if limit is not None and limit < len(cores):
        found.append(notice("cpu_limit", limit=limit, cores=len(cores)))
    kinds = list(dict.fromkeys(kinds_of(cores)))
    if len(kinds) > 1:
        found.append(notice("cores_differ", kinds=kinds, fastest=len(topology().default)))
    if missing := _unlisted():
        found.append(notice("processors_unlisted", missing=missing))
    return found


def _unlisted() -> list[int]:
    """Processors that this process may use, and that are missing where the kernel lists those online: lxcfs
    makes up that list in containers."""
    online = parse_list(read_text(_CPUS / "online"))
    return sorted(os.sched_getaffinity(0) - set(online)) if online else []


def for_hwloc() -> dict[str, str]:
    """The variables by which hwloc, and a runtime that counts processors by it, knows those of this process
    where the kernel's list lacks some; else none."""
    if not _unlisted():
        return {}
    mine = sorted(os.sched_getaffinity(0))
    described = f"core:{len(mine)} pu:1(indexes={','.join(map(str, mine))})"
    return {"HWLOC_SYNTHETIC": described, "HWLOC_THISSYSTEM": "1"}


def kinds_of(cores: Iterable[int]) -> tuple[str, ...]:
    """The name of each one's kind; nothing where the machine has one kind."""
    machine = topology()
    return tuple(machine.kinds[machine.kind_of(core)][0] for core in cores) if machine.kinds else ()


def caches() -> list[dict[str, object]]:
    """The caches of the machine's first processor: level, type, size in bytes, and the processors that share
    it. Whatever this process may use: so a job on other processors of a machine is on the same machine."""
    found: list[dict[str, object]] = []
    folders = (_CPUS / f"cpu{cpu}" / "cache" for cpu in parse_list(read_text(_CPUS / "online")))
    first = next((folder for folder in folders if folder.is_dir()), _CPUS)
    for folder in sorted(first.glob("index[0-9]*")):
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
