"""The machine as a result records it, and the state that `doctor` looks at."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import taskgrain
from taskgrain import _core
from taskgrain.machine import clock, processor
from taskgrain.machine.busy import BUSY_SHARE, BusyWatch
from taskgrain.machine.cgroups import cpu_limit
from taskgrain.machine.commit import commit
from taskgrain.machine.kernel_files import read_text
from taskgrain.machine.restrictions import restrictions
from taskgrain.machine.topology import caches, choose_cores, frequency, topology
from taskgrain.machine.topology import notices as topology_notices
from taskgrain.words.warnings import Notice, notice

_COMPILERS = ("gcc", "g++", "clang", "nvcc", "mpirun")


def _command(*command: str) -> str:
    """The standard output of a short command, empty if it fails or takes more than 5 s."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=5.0, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def _checked_out() -> str:
    """The commit of the checkout that the modules lie in, with `-dirty` after changes; else nothing."""
    checkout = Path(taskgrain.__file__).parents[2]
    if not (checkout / ".git").exists() or not (checkout / "python" / "taskgrain").is_dir():
        return ""
    return commit(checkout, 40)


def _project() -> dict[str, object]:
    """Returns what this package was built from, and how; the commit is unknown outside of a checkout."""
    built: dict[str, object] = json.loads(_core.build_facts_json())
    # Python modules that are used in their checkout may be newer than the build.
    found, _, dirty = (_checked_out() or str(built["commit"])).partition("-")
    return built | {"commit": found or None, "dirty": bool(dirty) if found else None}


def _own() -> list[str]:
    """The Python packages that the harness needs."""
    needs = metadata.requires("taskgrain") or []
    return [re.split(r"[^A-Za-z0-9._-]", one, maxsplit=1)[0] for one in needs if "extra ==" not in one]


def version_of(name: str) -> str | None:
    """The version of a package of Python; None without it."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def facts(packages: Iterable[str] = ()) -> dict[str, object]:
    """Returns the contents of `machine.json`, with the versions of the Python `packages` that systems stand
    on.

    Takes about 0.1 s; what cannot be found out is null or left out.
    """
    place = topology()
    memory = psutil.virtual_memory()
    compilers = {
        name: _command(name, "--version").partition("\n")[0] for name in _COMPILERS if shutil.which(name)
    }
    load = os.getloadavg()
    return {
        "taskgrain": {"version": taskgrain.__version__} | _project(),
        "time": time.time(),
        "host": platform.node(),
        "cpu": {
            "model": processor.model(),
            "architecture": platform.machine(),
            "sockets": place.sockets,
            "physical_cores": place.physical_cores,
            "smt": bool(place.siblings),
            "smt_siblings": [list(group) for group in place.siblings],
            "available": list(place.available),
            "default": list(choose_cores(0)),
            "kinds": {name: list(cpus) for name, cpus in place.kinds},
            "caches": caches(),
            "frequency": frequency(),
            "limit": cpu_limit(),
        },
        "numa": {str(node): list(cpus) for node, cpus in place.numa.items()},
        "memory": {"bytes": memory.total, "available_bytes": memory.available},
        "hypervisor": processor.hypervisor(),
        "kernel": platform.release(),
        "clock_source": clock.source(),
        "transparent_hugepages": read_text(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
        "os": _os_name(),
        "libc": " ".join(platform.libc_ver()),
        "compilers": compilers,
        "python": {"version": platform.python_version()},
        "libraries": {name: version for name in (*_own(), *packages) if (version := version_of(name))},
        "load": list(load),
    }


def fingerprint(found: Mapping[str, Any]) -> str:
    """A short hash of those `facts` that decide how fast the machine is: the same machine has it again."""
    cpu = found["cpu"]
    names = ("model", "architecture", "sockets", "physical_cores", "smt", "caches")
    memory = round(found["memory"]["bytes"] / 2**30)  # the kernel keeps a little more or less for itself
    deciding = [*(cpu[name] for name in names), found["kernel"], memory]
    return hashlib.sha256(json.dumps(deciding).encode()).hexdigest()[:16]


def together(fingerprints: Iterable[str]) -> str:
    """The fingerprint of several hosts: that of each, if all are of one kind."""
    kinds = sorted(set(fingerprints))
    return kinds[0] if len(kinds) == 1 else hashlib.sha256(json.dumps(kinds).encode()).hexdigest()[:16]


def of_host(found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the `facts` that are stored of each of several hosts, and compared between them."""
    cpu, governor = found["cpu"], found["cpu"]["frequency"].get("governor")
    own = {"host": found["host"], "machine": fingerprint(found), "cpu": cpu["model"]}
    memory = round(found["memory"]["bytes"] / 2**30) * 2**30  # as in the fingerprint
    own |= {"cores": cpu["physical_cores"], "memory_bytes": memory}
    return own | {"kernel": found["kernel"], "governor": governor}


def boot_id() -> str:
    """Returns the name of this boot of the machine; empty where the kernel does not say."""
    return read_text(Path("/proc/sys/kernel/random/boot_id"))


@dataclass(frozen=True)
class Noise:
    """The time that one core loses to interruptions while it does nothing but read the clock."""

    core: int
    lost: float
    """Share of the time, 0 to 1, that went into gaps of more than `GAP_SECONDS`."""
    largest_gap: float
    """Seconds."""
    gaps: int


GAP_SECONDS = 20e-6
"""A gap that the interpreter alone does not make between two readings of the clock."""


def noise(core: int, seconds: float = 0.3) -> Noise:
    """Counts the gaps in a spin loop on one core, as selfish-detour does (Hoefler et al., SC'10)."""
    clock = time.perf_counter_ns
    least = int(GAP_SECONDS * 1e9)
    before = os.sched_getaffinity(0)
    lost = largest = gaps = 0
    try:
        os.sched_setaffinity(0, {core})
        begin = last = clock()
        end = begin + int(seconds * 1e9)
        while last < end:
            now = clock()
            if now - last > least:
                gaps += 1
                lost += now - last
                largest = max(largest, now - last)
            last = now
    finally:
        os.sched_setaffinity(0, before)
    return Noise(core, lost / max(1, last - begin), largest / 1e9, gaps)


@dataclass(frozen=True)
class State:
    """The fitness of the machine to be measured on now."""

    busy_share: float
    """Share (0 to 1) of the cores' time that other processes and the hypervisor took over a window."""
    noise: tuple[Noise, ...]


def state(cores: Sequence[int] | None = None, window: float = 0.3, spin: float = 0.3) -> State:
    """Watches the machine for `window` seconds, then spins `spin` seconds on each core."""
    used = choose_cores(0) if cores is None else tuple(cores)
    watch = BusyWatch(used)
    time.sleep(window)
    busy = watch.end(_core.descendants([os.getpid()])).share
    return State(busy, tuple(noise(core, spin) for core in used))


def warnings(machine: dict[str, object], now: State) -> list[Notice]:
    """Returns the faults that a person should mend before measuring, with the remedies."""
    found: list[Notice] = []
    if now.busy_share > BUSY_SHARE:
        found.append(notice("machine_busy", share=now.busy_share))
    worst = max(now.noise, key=lambda one: one.lost, default=None)
    if worst is not None and worst.lost > 0.02:
        found.append(notice("core_interrupted", core=worst.core, lost=worst.lost, gap=worst.largest_gap))
    cpu = machine["cpu"]
    assert isinstance(cpu, dict)
    governor = cpu["frequency"].get("governor")
    if governor not in (None, "performance"):
        found.append(notice("clock_governor", governor=governor))
    found += topology_notices(cpu["default"])
    if short := restrictions():
        found.append(notice("short", what=short))
    if machine["hypervisor"]:
        found.append(notice("virtual_machine"))
    return found
