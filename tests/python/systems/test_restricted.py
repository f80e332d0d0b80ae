"""Systems where little can be written: no home folder, a read-only /tmp, a read-only installation."""

from __future__ import annotations

import json
import subprocess

import pytest
from driver_process import REPOSITORY, runnable
from killable_study import program

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
