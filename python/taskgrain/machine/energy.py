"""Energy of the processors, where the kernel tells it (RAPL). Most kernels let only root read it, and virtual
machines have none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")
Reading = Mapping[Path, int]
"""Microjoules of each package, from some moment on."""


def read() -> Reading:
    """Reads each package of processors with its caches; empty where none can be read."""
    try:
        zones = [zone for zone in POWERCAP.glob("intel-rapl:*") if _text(zone / "name").startswith("package")]
        return {zone: int(_text(zone / "energy_uj")) for zone in zones}
    except (OSError, ValueError):
        return {}


def joules(start: Reading, end: Reading) -> float | None:
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
