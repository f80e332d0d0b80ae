"""The clock that all seconds are read from."""

from __future__ import annotations

import time
from pathlib import Path

from taskgrain.machine.kernel_files import read_text
from taskgrain.words.warnings import Notice, notice

_SOURCES = Path("/sys/devices/system/clocksource/clocksource0")
_QUICK = (
    *("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter", "timebase"),
    *("riscv_clocksource", "tod"),
)
"""The clocks that a program reads without a call of the system: on x86, in its virtual machines, on Arm,
POWER, RISC-V and s390."""
_LOOKS = 200


def source() -> str:
    """Returns the clock that the kernel counts time by; empty where it does not say."""
    return read_text(_SOURCES / "current_clocksource")


def notices() -> list[Notice]:
    """Warns of a clock at which each look costs a call of the system."""
    own = source()
    if not own or own in _QUICK:
        return []
    known = read_text(_SOURCES / "available_clocksource").split()
    quicker = [one for one in known if one in _QUICK] or ["none"]
    return [notice("clock_source", source=own, look=_look(), quicker=quicker)]


def _look() -> float:
    """Seconds of a look, with the interpreter's part of it."""
    begin = time.perf_counter_ns()
    for _ in range(_LOOKS):
        time.perf_counter_ns()
    return (time.perf_counter_ns() - begin) / _LOOKS / 1e9
