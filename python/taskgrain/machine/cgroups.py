"""The control groups of this process, of version 2 and 1: how much of the processors they allow, and how long
they have stopped it for having used that up. `src/rt/engine/cgroups.cpp` finds them in the same way."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from taskgrain.machine.kernel_files import read_text

_ROOT = Path("/")


def folders(controller: str, version_2: bool) -> list[Path]:
    """The folders of the group and of its parents, the outermost first; none without that controller."""
    return found(_ROOT, controller, version_2)


@cache
def found(root: Path, controller: str, version_2: bool) -> list[Path]:
    """The same below another root, looked for once: they are asked for around each run."""
    path = None
    for line in read_text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" if version_2 else controller in controllers.split(","):
            path = group
    if path is None:
        return []
    each: list[Path] = []
    for line in read_text(root / "proc/self/mountinfo").splitlines():
        if each:  # others show the same groups once more
            break
        before, dash, after = line.partition(" - ")
        place, kind = before.split(), after.split()
        if not dash or len(place) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2" if version_2 else kind[0] == "cgroup" and controller in kind[2].split(","):
            folder = root / place[4].lstrip("/")
            each.append(folder)
            # A container may see only its own group, at the top of the mount, but its whole path.
            own = Path(path).is_relative_to(place[3])
            for part in Path(path).relative_to(place[3]).parts if own else ():
                if part == "..":
                    break
                folder /= part
                each.append(folder)
    return each


def cpu_limit() -> float | None:
    """CPU time per wall time that the groups allow, in cores; None without a limit."""
    limits = []
    for version_2 in (True, False):
        for folder in folders("cpu", version_2):
            if version_2:
                quota, period = [*read_text(folder / "cpu.max").split(), "", ""][:2]
            else:
                quota, period = (read_text(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
            if quota.isdigit() and period.isdigit() and int(period):  # else it is "max", or -1
                limits.append(int(quota) / int(period))
    return min(limits, default=None)


def throttled_seconds() -> float:
    """The seconds for which the groups have stopped their threads, all together, as the quota was used up."""
    found = 0.0
    for version_2, name, unit in ((True, "throttled_usec", 1e-6), (False, "throttled_time", 1e-9)):
        for folder in folders("cpu", version_2):
            for line in read_text(folder / "cpu.stat").splitlines():
                key, _, value = line.partition(" ")
                if key == name and value.isdigit():
                    found += unit * int(value)
    return found
