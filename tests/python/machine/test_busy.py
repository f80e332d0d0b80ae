"""Tests of the time that counts as taken from the cores that are measured."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskgrain.machine import busy
from taskgrain.machine.busy import BusyWatch, cpu_ticks, energies, involuntary_switches, joules


def test_counts_who_takes_the_cores_and_who_is_interrupted() -> None:
    core = max(os.sched_getaffinity(0))
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        for hog in hogs:
            os.sched_setaffinity(hog.pid, {core})
        watch = BusyWatch([core], [hogs[0].pid])
        found = watch.end([hogs[0].pid])
        while found.share <= 0.2 or found.switches <= 2:  # others may run, too
            time.sleep(0.5)
            found = watch.end([hogs[0].pid])
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    assert 0.0 <= found.steal <= found.share


@pytest.mark.parametrize(("gone", "share"), [(0.0, 0.98), (0.6, 0.38), (1.0, 0.0)])
def test_what_is_measured_and_gone_is_no_other(
    monkeypatch: pytest.MonkeyPatch, gone: float, share: float
) -> None:
    """A second in which the core was busy, less two ticks."""
    idle, full = ([ticks, 0, 0, 0, 0, 0, 0, 0] for ticks in (0, os.sysconf("SC_CLK_TCK")))
    readings = iter([busy._Reading(9.0, {}, {0: idle}), busy._Reading(10.0, {}, {0: full})])
    monkeypatch.setattr(BusyWatch, "_read", lambda _: next(readings))
    monkeypatch.setattr(BusyWatch, "_last", busy._Reading(-1e9, {}, {}))
    assert BusyWatch([0]).end((), gone).share == pytest.approx(share)


LINES = b"voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n"


@pytest.mark.parametrize("after", [b"", b"x86_Thread_features:\t\nx86_Thread_features_locked:\t\n"])
def test_the_switches_of_a_thread_on_older_and_newer_kernels(after: bytes) -> None:
    assert busy._switches(b"Name:\tit\n" + LINES + after) == 7


def test_the_switches_of_this_process_are_those_that_the_kernel_tells() -> None:
    program = (
        "import os, resource\n"
        "from taskgrain.machine.busy import involuntary_switches\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw\n"
        "found = involuntary_switches(os.getpid())\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw\n"
        "print(before, found, after)"
    )
    # In a process of its own: threads that ended count in the first and last number alone.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, found, after = map(int, done.stdout.split())
    assert before <= found <= after


def test_a_process_that_is_gone_has_no_switches() -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    assert involuntary_switches(gone.pid) == 0


def test_a_process_that_was_started_since_is_among_all() -> None:
    known = busy._Processes()
    known.cpu_seconds()
    with subprocess.Popen(["sleep", "100"]) as one:
        assert {os.getpid(), one.pid} <= known.cpu_seconds().keys()
        one.kill()


def test_ticks_are_those_of_each_processor() -> None:
    before = cpu_ticks()
    assert os.sched_getaffinity(0) <= before.keys()
    assert {len(one) for one in before.values()} == {8}
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        pass
    after = cpu_ticks()
    assert sum(sum(after[one]) for one in after) > sum(sum(before[one]) for one in before)


class Readings:
    """The readings of the system at the beginning and at the end, in its own words."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *readings: busy._Reading) -> None:
        rest = list(readings)
        monkeypatch.setattr(BusyWatch, "_read", staticmethod(lambda: rest.pop(0)))


OWN, OTHER, NEW = 10**7, 10**7 + 1, 10**7 + 2  # no process of this machine has such numbers
TICKS = os.sysconf("SC_CLK_TCK")


def ticks(user: float, steal: float = 0.0, idle: float = 0.0) -> list[int]:
    """The counters of one processor after so many seconds of each kind."""
    return [int(TICKS * one) for one in (user, 0, 0, idle, 0, 0, 0, steal)]


def test_what_others_used_is_a_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    still = {0: ticks(0), 1: ticks(0)}
    Readings(
        monkeypatch,
        busy._Reading(0.0, {OWN: 1.0, OTHER: 5.0}, still),
        busy._Reading(10.0, {OWN: 9.0, OTHER: 7.0, NEW: 1.0}, still),
    )
    found = BusyWatch([0, 1], [OWN]).end([OWN])
    assert found.share == pytest.approx((2.0 + 1.0) / 20.0)
    assert (found.steal, found.switches) == (0.0, 0)


def test_busy_ticks_that_no_process_explains_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    Readings(
        monkeypatch,
        busy._Reading(0.0, {OWN: 1.0}, {0: ticks(0)}),
        busy._Reading(10.0, {OWN: 4.0}, {0: ticks(user=8.0, steal=1.0, idle=1.0)}),
    )
    found = BusyWatch([0], [OWN]).end([OWN])
    assert found.steal == pytest.approx(0.1)
    assert found.share == pytest.approx((8.0 - 3.0 - 2 / TICKS + 1.0) / 10.0)


def test_an_own_process_that_ended_is_not_counted_as_another(monkeypatch: pytest.MonkeyPatch) -> None:
    Readings(
        monkeypatch,
        busy._Reading(0.0, {OWN: 100.0}, {0: ticks(0)}),
        busy._Reading(10.0, {}, {0: ticks(user=1.0, idle=9.0)}),
    )
    assert BusyWatch([0], [OWN]).end([OWN]).share == pytest.approx((1.0 - 2 / TICKS) / 10.0)


def test_a_single_tick_of_steal_in_a_short_time_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for wall, steal in ((0.1, 0.0), (10.0, 1 / TICKS / 10.0)):
        Readings(
            monkeypatch,
            busy._Reading(0.0, {}, {0: ticks(0)}),
            busy._Reading(wall, {}, {0: ticks(0, steal=1.5 / TICKS)}),
        )
        assert BusyWatch([0]).end([]).steal == pytest.approx(steal)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.floats(0, 100),
    st.dictionaries(st.sampled_from([OWN, OTHER, NEW]), st.floats(0, 1000)),
    st.dictionaries(st.sampled_from([OWN, OTHER, NEW]), st.floats(0, 1000)),
    st.lists(st.integers(0, 10**5), min_size=8, max_size=8),
)
def test_a_share_is_a_share_whatever_the_system_says(
    monkeypatch: pytest.MonkeyPatch,
    wall: float,
    before: dict[int, float],
    after: dict[int, float],
    counters: list[int],
) -> None:
    Readings(monkeypatch, busy._Reading(0.0, before, {0: [0] * 8}), busy._Reading(wall, after, {0: counters}))
    found = BusyWatch([0], [OWN]).end([OWN])
    assert 0.0 <= found.steal <= found.share <= 1.0


def test_what_was_just_read_at_the_end_serves_to_begin_with(monkeypatch: pytest.MonkeyPatch) -> None:
    now, readings = 0.0, list[float]()
    monkeypatch.setattr(busy.time, "perf_counter", lambda: now)
    monkeypatch.setattr(busy, "cpu_ticks", lambda: readings.append(now) or {})
    monkeypatch.setattr(BusyWatch, "_last", busy._Reading(-1.0, {}, {}))
    for begin, end in ((0.0, 1.0), (1.001, 2.0), (2.1, 3.0)):
        now = begin
        watch = BusyWatch([0])
        now = end
        watch.end([])
    assert readings == [0.0, 1.0, 2.0, 2.1, 3.0]


def write(folder: Path, zone: str, name: str, microjoules: int) -> None:
    (folder / zone).mkdir(parents=True, exist_ok=True)
    (folder / zone / "name").write_text(f"{name}\n")
    (folder / zone / "energy_uj").write_text(f"{microjoules}\n")
    (folder / zone / "max_energy_range_uj").write_text("1000000\n")


@pytest.fixture
def powercap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages, a part of one of them, and the whole machine, which is no package."""
    monkeypatch.setattr(busy, "POWERCAP", tmp_path)
    write(tmp_path, "intel-rapl:0", "package-0", 100)
    write(tmp_path, "intel-rapl:0:0", "core", 50)
    write(tmp_path, "intel-rapl:1", "package-1", 999_900)
    write(tmp_path, "intel-rapl:2", "psys", 7)
    return tmp_path


def test_packages_are_added_and_counters_begin_again(powercap: Path) -> None:
    start = energies()
    write(powercap, "intel-rapl:0", "package-0", 300)
    write(powercap, "intel-rapl:1", "package-1", 400)
    write(powercap, "intel-rapl:2", "psys", 900_000)
    assert joules(start, energies()) == pytest.approx(700e-6)


def test_a_run_has_its_energy(powercap: Path) -> None:
    watch = BusyWatch([0])
    write(powercap, "intel-rapl:0", "package-0", 500_100)
    assert watch.end([]).joules == pytest.approx(0.5)


@pytest.mark.parametrize("broken", ["energy_uj", "name"])
def test_what_cannot_be_read_is_absent(powercap: Path, broken: str) -> None:
    start = energies()
    (powercap / "intel-rapl:1" / broken).write_text("x")
    assert joules(start, energies()) is None
    assert joules({}, {}) is None


def test_without_the_folder_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy, "POWERCAP", Path("/nowhere"))
    assert BusyWatch([0]).end([]).joules is None
