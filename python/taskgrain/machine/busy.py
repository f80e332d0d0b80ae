"""The counts of the system while something is measured: how much of the cores other processes and the
hypervisor took, how often a driver was interrupted, for how long a quota stopped it, and energy."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from taskgrain.machine.cgroups import throttled_seconds
from taskgrain.machine.processes import cpu_seconds

BUSY_SHARE = 0.03
"""A repeat is disturbed if others took more than this share of the cores during its run, and it waited for
them for more than this share of its time."""
_RECENT = 0.005
"""Seconds after which a reading is made anew: about what the harness takes between two requests."""
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_STEAL = 7  # /proc/stat: user nice system idle iowait irq softirq steal
_IDLE = (3, 4)


def cpu_ticks() -> dict[int, list[int]]:
    """The counters of /proc/stat by processor, in ticks; empty where there is no such file."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            lines = [line.split() for line in file if line.startswith("cpu")]
    except OSError:
        return {}
    return {int(words[0][3:]): [int(word) for word in words[1:9]] for words in lines if words[0] != "cpu"}


_LISTED_SECONDS = 5.0


class _Processes:
    """All processes. To list them takes longest, and is done only after one was started, and after some
    seconds: not every kernel tells the last that was."""

    def __init__(self) -> None:
        self._newest, self._pids, self._listed = b"", list[int](), 0.0

    def cpu_seconds(self) -> dict[int, float]:
        """The processor time of each."""
        try:
            with open("/proc/loadavg", "rb") as file:
                newest = file.read().split()[4]
            now = time.monotonic()
            if newest != self._newest or now - self._listed > _LISTED_SECONDS:
                self._listed = now
                self._newest, self._pids = newest, [int(one) for one in os.listdir("/proc") if one.isdigit()]
        except (OSError, IndexError):
            return {}
        return {pid: cpu_seconds(pid) for pid in self._pids}


def _last_processor(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[36])
    except (OSError, IndexError, ValueError):
        return -1


def _switches(status: bytes) -> int:
    """The involuntary switches of a thread's status, which some kernels follow with other lines."""
    return int(status.partition(b"nonvoluntary_ctxt_switches:")[2].partition(b"\n")[0])


def involuntary_switches(pid: int) -> int:
    """Involuntary context switches of a process's threads; 0 if it is gone."""
    count = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/status", "rb") as file:
                count += _switches(file.read())
    except (OSError, ValueError):
        pass
    return count


def left_alone(
    seconds: Sequence[float | None],
    waited: Sequence[float | None],
    busy: float,
    steal: float,
    throttled: float = 0.0,
) -> list[float]:
    """Returns the times of the repeats of a request that others left alone.

    If others took a part of the cores during a request, a repeat of it may have passed between: how long its
    threads waited for their processors tells, where it is known. No thread waits visibly for the hypervisor,
    nor for the quota of its control group.
    """
    if throttled > BUSY_SHARE * sum(one or 0.0 for one in seconds):
        return []
    if busy <= BUSY_SHARE:
        return [one for one in seconds if one is not None]
    if steal > BUSY_SHARE:
        return []
    known = zip(seconds, waited, strict=False)
    return [one for one, lost in known if one and lost is not None and lost <= BUSY_SHARE * one]


@dataclass(frozen=True)
class Busy:
    share: float = 0.0
    """Share (0 to 1) of the cores' time that went to others: processes and the hypervisor."""
    steal: float = 0.0
    """The hypervisor's part of it."""
    switches: int = 0
    """Involuntary context switches of the processes that were measured."""
    joules: float | None = None
    """The energy of all processors, for any program; None where it cannot be read."""
    throttled: float = 0.0
    """Seconds for which the quota of the control group stopped threads, all together."""
    hosts: tuple[float, ...] = ()
    """The share of each host, this one first, if there are several."""


def busiest(hosts: Sequence[Busy]) -> Busy:
    """Returns the counts of several hosts: the largest share of any, and the sum of what is no share."""
    energy = [one.joules for one in hosts]
    return Busy(
        max(one.share for one in hosts),
        max(one.steal for one in hosts),
        sum(one.switches for one in hosts),
        None if None in energy else sum(filter(None, energy)),
        sum(one.throttled for one in hosts),
        tuple(one.share for one in hosts),
    )


POWERCAP = Path("/sys/class/powercap")
Energies = Mapping[Path, int]
"""Microjoules of each package, from some moment on."""


def energies() -> Energies:
    """Reads each package of processors with its caches; empty where none can be read."""
    try:
        zones = [zone for zone in POWERCAP.glob("intel-rapl:*") if _text(zone / "name").startswith("package")]
        return {zone: int(_text(zone / "energy_uj")) for zone in zones}
    except (OSError, ValueError):
        return {}


def joules(start: Energies, end: Energies) -> float | None:
    """Returns the energy that all packages took in between; None where it cannot be read."""
    if not start or start.keys() != end.keys():
        return None
    try:
        passed = [
            now - start[zone] if now >= start[zone] else now - start[zone] + _range(zone)
            for zone, now in end.items()
        ]
    except (OSError, ValueError):
        return None
    return 1e-6 * sum(passed)


def _range(zone: Path) -> int:
    """The microjoules after which a counter begins again."""
    return int(_text(zone / "max_energy_range_uj"))


def _text(file: Path) -> str:
    return file.read_text(encoding="ascii").strip()


@dataclass(frozen=True)
class _Reading:
    wall: float
    processes: dict[int, float]
    ticks: dict[int, list[int]]
    energy: Energies = field(default_factory=dict)
    throttled: float = 0.0


class BusyWatch:
    """Measures from its making to `end`; `own` are the processes that are measured.

    Two counters are read, as neither sees all: the CPU time of every other process in nanoseconds, which
    misses those of other containers and those that ended meanwhile; and the busy ticks of the cores, which
    miss what is shorter than some 10 ms. The larger one counts, and the steal time is added.

    A reading takes a millisecond. One that ended just before, of another watch, serves to begin with: what
    passed between counts too.
    """

    _last: ClassVar[_Reading] = _Reading(-math.inf, {}, {})
    _processes: ClassVar[_Processes] = _Processes()

    def __init__(self, cores: Collection[int], own: Iterable[int] = ()) -> None:
        self._cores = frozenset(cores)
        self._switches = sum(map(involuntary_switches, own))
        recent = time.perf_counter() - self._last.wall < _RECENT
        self._start = self._last if recent else self._read()

    @classmethod
    def _read(cls) -> _Reading:
        cls._last = _Reading(
            time.perf_counter(), cls._processes.cpu_seconds(), cpu_ticks(), energies(), throttled_seconds()
        )
        return cls._last

    def end(self, own: Collection[int], gone: float = 0.0) -> Busy:
        """Returns the counts since then; this process does not count as another, nor do `own` ones that are
        gone and used so many seconds."""
        start, end = self._start, self._read()
        wall = max(end.wall - start.wall, 1e-9)
        ours = {*own, os.getpid()}
        # One that ended meanwhile has no time at the end; its earlier time must not count against the others.
        own_seconds = gone + sum(
            max(0.0, end.processes.get(pid, 0.0) - start.processes.get(pid, 0.0)) for pid in ours
        )

        alone = not start.ticks or self._cores >= start.ticks.keys()
        others = 0.0
        for pid, total in end.processes.items():
            used = total - start.processes.get(pid, 0.0)
            if pid not in ours and used > 2e-5 and (alone or _last_processor(pid) in self._cores):
                others += used

        busy = steal = 0.0
        for core in self._cores & start.ticks.keys() & end.ticks.keys():
            passed = [now - before for now, before in zip(end.ticks[core], start.ticks[core], strict=True)]
            busy += _TICK * (sum(passed) - sum(passed[index] for index in _IDLE) - passed[_STEAL])
            steal += _TICK * passed[_STEAL]
        # A tick is charged whole to whoever runs when it strikes: two per core are within its error.
        unseen = busy - own_seconds - 2 * _TICK * len(self._cores)
        if steal <= _TICK and wall * len(self._cores) < 50 * _TICK:
            steal = 0.0  # a single tick may have gathered over minutes
        whole = wall * max(1, len(self._cores))
        switches = max(0, sum(map(involuntary_switches, own)) - self._switches)
        share = min(1.0, (max(others, unseen, 0.0) + steal) / whole)
        stopped = max(0.0, end.throttled - start.throttled)
        return Busy(share, min(1.0, steal / whole), switches, joules(start.energy, end.energy), stopped)
