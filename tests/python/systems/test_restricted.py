"""Systems where little can be written: no home folder, a read-only /tmp, a read-only installation."""

import json
import subprocess
from pathlib import Path

import pytest
from driver_process import REPOSITORY, runnable
from killable_study import program

from taskgrain.machine.topology import choose_cores

READ_ONLY = """
for place in /tmp {}; do mount --rbind $place $place && mount -o remount,bind,ro $place || exit 77; done
mount -t tmpfs none /mnt || exit 77
export TMPDIR=/mnt HOME=/nonexistent
cd {}; exec "$0" "$@"
"""


@pytest.mark.parametrize("system", ["starpu", pytest.param("all", marks=pytest.mark.deep)])
def test_it_runs_where_only_the_folder_of_temporary_files_can_be_written(system: str) -> None:
    names = [one for one in runnable() if system in ("all", one)]
    if not names:
        pytest.skip(f"{system} is not built")
    words = program(["run", "--system", ",".join(names), "--steps", "4", "--repeats", "1", "--json"])
    alone = ["unshare", "-m", "sh", "-c", READ_ONLY.format(REPOSITORY, REPOSITORY)]
    done = subprocess.run([*alone, *words], capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("may not mount")
    assert done.returncode == 0, done.stdout
    assert [one["system"] for one in json.loads(done.stdout)["runs"]] == names


LISTED = """
mount --bind "$1" /sys/devices/system/cpu/online || exit 77
shift; exec "$@"
"""


@pytest.mark.parametrize("online", ["0", "4000-4001"])
def test_the_affinity_mask_counts_where_a_container_makes_up_which_processors_are_online(
    online: str, tmp_path: Path
) -> None:
    """As lxcfs does, on which StarPU and the runtime count by hwloc."""
    names = [one for one in runnable() if one in ("starpu", "taskgrain_ptg", "openmp_task")]
    (tmp_path / "online").write_text(f"{online}\n")
    words = program(["run", "--system", ",".join(names), "--steps", "4", "--repeats", "1", "--json"])
    alone = ["unshare", "-m", "sh", "-c", LISTED, "sh", str(tmp_path / "online")]
    done = subprocess.run([*alone, *words], capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("may not mount")
    assert done.returncode == 0, done.stdout
    for one in json.loads(done.stdout)["runs"]:
        assert one["binding"] == [[core] for core in choose_cores(0)], one["system"]
