"""tools/build_once.sh: what set-up builds or fetches once for all checkouts of a user."""

import os
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[3] / "tools" / "build_once.sh"
BUILD = 'mkdir -p "stage$where"; echo built >"stage$where/engine.txt"; finish'


def setup(
    tmp_path: Path, *words: str, build: str = BUILD, cache: str = ""
) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "setup"
    script.write_text(f'#!/usr/bin/env bash\nsource {TOOL}\nbegin engine 1.0 "$@"\n{build}\n')
    script.chmod(0o755)
    environment = os.environ | {"XDG_CACHE_HOME": cache or str(tmp_path / "cache")}
    return subprocess.run([script, *words], env=environment, cwd=tmp_path, capture_output=True, text=True)


def kept(tmp_path: Path) -> list[str]:
    return sorted(str(file.relative_to(tmp_path / "cache")) for file in (tmp_path / "cache").rglob("*"))


def test_builds_once(tmp_path: Path) -> None:
    done = setup(tmp_path)
    assert done.returncode == 0, done.stderr
    whole = ["taskgrain", "taskgrain/engine-1.0", "taskgrain/engine-1.0/engine.txt"]
    assert kept(tmp_path) == whole, "and nothing of the work"
    again = setup(tmp_path)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    where = tmp_path / "cache" / "taskgrain" / "engine-1.0"
    assert setup(tmp_path, "--where").stdout == f"{where}\n"


def test_a_relative_cache_holds_in_every_folder(tmp_path: Path) -> None:
    assert setup(tmp_path, cache="cache").returncode == 0
    assert "taskgrain/engine-1.0/engine.txt" in kept(tmp_path)


@pytest.mark.parametrize("home", ("", "/proc/nobody"))
def test_without_a_home_the_checkout_keeps_it(tmp_path: Path, home: str) -> None:
    script = tmp_path / "setup"
    script.write_text(f'#!/usr/bin/env bash\nsource {TOOL}\nbegin engine 1.0 "$@"\n')
    environment = {"PATH": os.environ["PATH"]} | ({"HOME": home} if home else {})
    done = subprocess.run(["bash", script, "--where"], env=environment, capture_output=True, text=True)
    assert done.stdout == f"{TOOL.parents[1]}/build/cache/taskgrain/engine-1.0\n", done.stderr


def test_one_who_was_faster_keeps_what_there_is(tmp_path: Path) -> None:
    other = 'mkdir -p "$where"; echo other >"$where/engine.txt"; '
    assert setup(tmp_path, build=other + BUILD).returncode == 0
    assert (tmp_path / "cache" / "taskgrain" / "engine-1.0" / "engine.txt").read_text() == "other\n"


def test_a_build_that_fails_is_shown_and_leaves_nothing(tmp_path: Path) -> None:
    done = setup(tmp_path, build="logged bash -c 'echo no compiler; exit 3'")
    assert done.returncode == 1
    assert done.stderr.endswith("no compiler\n")
    assert kept(tmp_path) == ["taskgrain"]
