"""The test for 64-bit Arm, where it cannot be run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "tools" / "test_aarch64"


@pytest.mark.skipif(os.uname().machine == "aarch64", reason="nothing is emulated there")
@pytest.mark.parametrize(
    ("present", "missing"),
    (
        ((), "g++-aarch64-linux-gnu qemu-user"),
        (("qemu-aarch64",), "g++-aarch64-linux-gnu"),
        (("aarch64-linux-gnu-g++",), "qemu-user"),
    ),
)
def test_it_names_what_is_missing_and_is_no_failure(
    tmp_path: Path, present: tuple[str, ...], missing: str
) -> None:
    for tool in ("bash", "dirname", "uname"):
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    for tool in present:
        (tmp_path / tool).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / tool).chmod(0o755)
    done = subprocess.run([str(SCRIPT)], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"NOT TESTED, missing here: {missing} (apt-get install {missing})" in done.stdout
