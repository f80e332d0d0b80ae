"""The quota of control groups: in folders as machines have them, and one that this machine really sets."""

import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_cgroups import made_cgroups

from taskgrain.machine.cgroups import cpu_limit, folders, throttled_seconds


def test_the_least_quota_of_a_group_and_its_parents_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "4:memory:/elsewhere\n2:cpu,cpuacct:/batch/job\n0::/system/job"
    made_cgroups(tmp_path, monkeypatch, own, {"v2/system/cpu.max": "max 100000"})
    assert cpu_limit() is None
    one = {"v1/cpu/batch/cpu.cfs_quota_us": 150000, "v1/cpu/batch/cpu.cfs_period_us": 100000}
    made_cgroups(tmp_path, monkeypatch, own, {**one, "v1/cpu/cpu.cfs_quota_us": -1})
    assert cpu_limit() == 1.5, "the group in between"
    made_cgroups(tmp_path, monkeypatch, own, {"v2/system/job/cpu.max": "50000 100000"})
    assert cpu_limit() == 0.5
    stat = {"v2/system/job/cpu.stat": "nr_throttled 2\nthrottled_usec 2500000"}
    made_cgroups(tmp_path, monkeypatch, own, {**stat, "v1/cpu/batch/cpu.stat": "throttled_time 500000000"})
    assert throttled_seconds() == 3.0


def test_a_container_sees_its_own_group_at_the_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_cgroups(tmp_path, monkeypatch, "0::/docker/ab/inner", {}, top="/docker/ab")
    assert folders("cpu", True) == [tmp_path / "v2", tmp_path / "v2" / "inner"]
    made_cgroups(tmp_path, monkeypatch, "0::/../elsewhere", {}, top="/")
    assert folders("cpu", True) == [tmp_path / "v2"]
    made_cgroups(tmp_path, monkeypatch, "no line\n0::/", {}, top="/docker/ab")
    assert folders("cpu", True) == [tmp_path / "v2"] and not folders("cpu", False)


@pytest.fixture
def fiftieth() -> Iterator[Path]:
    """A group within a group that allows a fiftieth of a core, which is less than a busy machine gives."""
    parent = Path("/sys/fs/cgroup/cpu", f"taskgrain-{uuid.uuid4().hex}")
    inner = parent / "inner"
    if not parent.parent.is_dir():
        pytest.skip("needs control groups of version 1")
    try:
        inner.mkdir(parents=True)
        (parent / "cpu.cfs_period_us").write_text("100000")
        (parent / "cpu.cfs_quota_us").write_text("2000")
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    yield inner
    inner.rmdir()
    parent.rmdir()


def test_a_real_quota_of_a_parent_is_seen_and_stops_a_process(fiftieth: Path) -> None:
    program = (
        "import os, sys\n"
        "from taskgrain.machine.busy import BusyWatch\n"
        "from taskgrain.machine.cgroups import cpu_limit, throttled_seconds\n"
        "from taskgrain.machine.topology import choose_cores\n"
        "open(sys.argv[1], 'w').write(str(os.getpid()))\n"
        "watch, before = BusyWatch([0]), throttled_seconds()\n"
        "while throttled_seconds() == before: sum(range(10**4))\n"
        "print(cpu_limit(), len(choose_cores(0)), watch.end([]).throttled > 0.0, flush=True)\n"
        "os._exit(0)"  # the interpreter's own end takes a minute in there
    )
    command = [sys.executable, "-c", program, str(fiftieth / "tasks")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("0.02 1 True\n", "")
