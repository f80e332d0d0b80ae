"""The processors of a machine: of this one, and of others as Linux would describe them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.machine import topology
from taskgrain.machine.topology import caches, choose_cores, frequency, parse_list, read_text
from taskgrain.words.errors import InputError

_CLOCK = "cpufreq__cpuinfo_max_freq"


class Machine:
    """A machine under a folder: what it has in /sys, and what this process may use of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, mine: set[int]) -> None:
        self.cpus, self.nodes = folder / "cpu", folder / "node"
        monkeypatch.setattr(topology, "_CPUS", self.cpus)
        monkeypatch.setattr(topology, "_NODES", self.nodes)
        monkeypatch.setattr(topology, "_INTEL", folder)
        monkeypatch.setattr(topology, "cpu_limit", lambda: None)
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: mine)

    def write(self, **files: object) -> None:
        """`cpu0__topology__physical_package_id` is a file in two folders."""
        for name, value in files.items():
            file = self.cpus.joinpath(*name.split("__"))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{value}\n")

    def core(self, package: int, *threads: int) -> None:
        """A physical core with its hardware threads."""
        for cpu in threads:
            siblings = ",".join(map(str, threads))
            self.write(**{f"cpu{cpu}__topology__thread_siblings_list": siblings})
            self.write(**{f"cpu{cpu}__topology__physical_package_id": package})

    def node(self, number: int, cpus: str) -> None:
        (self.nodes / f"node{number}").mkdir(parents=True)
        (self.nodes / f"node{number}" / "cpulist").write_text(cpus + "\n")


def test_this_machine() -> None:
    found = topology.topology()
    assert sorted(found.available) == sorted(os.sched_getaffinity(0))
    assert 1 <= found.sockets <= found.physical_cores <= len(found.available)
    assert (found.physical_cores == len(found.available)) or found.siblings


def test_two_sockets_of_two_cores_with_two_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch, set(range(8)))
    for core in range(4):
        machine.core(core // 2, core, core + 4)
    machine.node(0, "0-1,4-5")
    machine.node(1, "2-3,6-7")
    found = topology.topology()
    assert found.available == (0, 1, 2, 3, 4, 5, 6, 7)
    assert (found.physical_cores, found.sockets) == (4, 2)
    assert found.siblings == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert found.numa == {0: (0, 1, 4, 5), 1: (2, 3, 6, 7)}
    assert choose_cores(0) == (0, 1, 2, 3)
    assert choose_cores(6) == (0, 1, 2, 3, 4, 5)
    for wrong in (9, -1):
        with pytest.raises(InputError, match=rf"--cores: {wrong} is not allowed; allowed: 1 to 8, "):
            choose_cores(wrong)


def test_one_thread_of_each_core_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch, {0, 1, 2, 3})
    machine.core(0, 0, 1)
    machine.core(0, 2, 3)
    assert topology.topology().available == (0, 2, 1, 3)
    assert choose_cores(0) == (0, 2)


def test_a_part_of_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch, {3, 5, 7})
    for core in range(4):
        machine.core(core // 2, core, core + 4)
    found = topology.topology()
    assert found.available == (3, 5, 7)
    assert found.physical_cores == 2, "3 and 7 are one core"
    assert topology.topology().available[: found.physical_cores] == choose_cores(0) == (3, 5)


def test_a_machine_that_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Machine(tmp_path, monkeypatch, {2, 4})
    found = topology.topology()
    assert found == topology.Topology((2, 4), 2, 1, (), {})
    assert (caches(), frequency()) == ([], {})


def test_hybrid_cores_of_intel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch, set(range(8)))
    machine.core(0, 4, 5)
    machine.core(0, 6, 7)
    for name, cpus in (("cpu_atom", "0-3"), ("cpu_core", "4-7")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpus").write_text(cpus)
    found = topology.topology()
    assert found.kinds == (("performance", (4, 5, 6, 7)), ("efficiency", (0, 1, 2, 3)))
    assert choose_cores(0) == found.default == (4, 6), "one thread of each core of the faster kind"
    assert choose_cores(7) == (4, 6, 0, 1, 2, 3, 5), "slower cores before second threads"
    assert topology.kinds_of((4, 0)) == ("performance", "efficiency")
    assert topology.notices((4, 6)) == []
    (said,) = topology.notices((4, 0))
    assert said.code == "cores_differ" and "(performance, efficiency)" in said.text


@pytest.mark.parametrize(
    ("file", "values", "kinds"),
    [
        ("cpu_capacity", (512, 1024, 500, 1000), {"capacity 1024": (1, 3), "capacity 512": (0, 2)}),
        ("cpu_capacity", (1024, 1000, 1024, 1000), {}),
        (_CLOCK, (2e6, 2e6, 3.5e6, 3.4e6), {"up to 3.5 GHz": (2, 3), "up to 2 GHz": (0, 1)}),
        (_CLOCK, (2e6, 2e6, 3.5e6, "x"), {}),
    ],
)
def test_cores_of_several_speeds(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    values: tuple[float | str, ...],
    kinds: dict[str, tuple[int, ...]],
) -> None:
    machine = Machine(tmp_path, monkeypatch, {0, 1, 2, 3})
    for cpu, value in enumerate(values):
        machine.write(**{f"cpu{cpu}__{file}": value if isinstance(value, str) else int(value)})
    assert dict(topology.topology().kinds) == kinds
    assert choose_cores(0) == next(iter(kinds.values()), (0, 1, 2, 3))


@pytest.mark.parametrize(("limit", "cores"), [(None, 4), (9.0, 4), (2.9, 2), (1.0, 1), (0.3, 1)])
def test_a_quota_decides_the_number_of_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: float | None, cores: int
) -> None:
    Machine(tmp_path, monkeypatch, {0, 1, 2, 3})
    monkeypatch.setattr(topology, "cpu_limit", lambda: limit)
    assert len(choose_cores(0)) == cores
    assert len(choose_cores(4)) == 4, "the user may ask for more"
    codes = [one.code for one in topology.notices((0, 1, 2, 3))]
    assert codes == (["cpu_limit"] if limit is not None and limit < 4 else [])


def test_processors_that_a_container_does_not_list_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """lxcfs makes up which processors are online."""
    machine = Machine(tmp_path, monkeypatch, {3, 7})
    assert topology.for_hwloc() == {} and topology.notices((3, 7)) == [], "there is no list"
    machine.write(online="0-7")
    assert topology.for_hwloc() == {} and topology.notices((3, 7)) == []
    machine.write(online="0-3")
    assert choose_cores(0) == (3, 7)
    assert [one.values for one in topology.notices((3, 7))] == [{"missing": [7]}]
    described = topology.for_hwloc()
    assert described == {"HWLOC_SYNTHETIC": "core:2 pu:1(indexes=3,7)", "HWLOC_THISSYSTEM": "1"}


def test_the_affinity_of_a_process_is_what_it_may_use() -> None:
    core = max(os.sched_getaffinity(0))
    program = (
        "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\n"
        "from taskgrain.machine.topology import choose_cores, topology\n"
        "print(topology().available, topology().physical_cores, choose_cores(0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(core)], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"({core},) 1 ({core},)\n"


@pytest.mark.parametrize("mine", [{1, 2}, {2}])
def test_caches(mine: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the machine's first processor, so that a job on others has the same machine."""
    machine = Machine(tmp_path, monkeypatch, mine)
    machine.write(
        online="0-2,5",
        cpu1__cache__index0__level=1,
        cpu1__cache__index0__type="Data",
        cpu1__cache__index0__size="48K",
        cpu1__cache__index0__coherency_line_size=64,
        cpu1__cache__index0__shared_cpu_list="1,5",
        cpu1__cache__index3__level=3,
        cpu1__cache__index3__type="Unified",
        cpu1__cache__index3__size="unknown",
        cpu2__cache__index0__level=9,
    )
    assert caches() == [
        {"level": 1, "type": "data", "bytes": 48 * 1024, "line_bytes": 64, "shared_by": [1, 5]},
        {"level": 3, "type": "unified", "bytes": None, "line_bytes": 0, "shared_by": []},
    ]


@pytest.mark.parametrize(
    ("name", "value", "turbo"),
    [
        ("intel_pstate__no_turbo", 0, True),
        ("intel_pstate__no_turbo", 1, False),
        ("cpufreq__boost", 1, True),
        ("cpufreq__boost", 0, False),
    ],
)
def test_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int, turbo: bool
) -> None:
    machine = Machine(tmp_path, monkeypatch, {0})
    machine.write(
        cpu0__cpufreq__scaling_governor="powersave",
        cpu0__cpufreq__scaling_driver="intel_pstate",
        cpu0__cpufreq__cpuinfo_min_freq=800_000,
        cpu0__cpufreq__cpuinfo_max_freq=3_500_000,
        cpu0__cpufreq__scaling_cur_freq="<unknown>",
        **{name: value},
    )
    assert frequency() == {
        "governor": "powersave",
        "driver": "intel_pstate",
        "min_hertz": 800_000_000,
        "max_hertz": 3_500_000_000,
        "turbo": turbo,
    }


def test_lists_as_short_as_those_of_the_kernel() -> None:
    assert topology.as_list([8, 2, 0, 1]) == "0-2,8"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-3,8", [0, 1, 2, 3, 8]), ("7", [7]), ("", []), ("x,2", [2]), ("0-1, 4\n", [0, 1, 4])],
)
def test_lists(text: str, numbers: list[int]) -> None:
    assert parse_list(text) == numbers


@given(st.sets(st.integers(0, 300)))
def test_lists_as_the_kernel_writes_them(numbers: set[int]) -> None:
    assert parse_list(topology.as_list(numbers)) == sorted(numbers)


def test_files_that_are_not_there_or_no_text(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b" \xff\n")
    assert read_text(tmp_path / "file") == "\ufffd"
    assert read_text(tmp_path / "none") == read_text(tmp_path) == ""
