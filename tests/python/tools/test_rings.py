import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rings
from rings import Ring, Stage


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two files and a set-up that works."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one").write_text("1")
    (tmp_path / "two").write_text("2")
    (tmp_path / "Makefile").write_text("setup-dev:\n\t@echo set up $(GROUPS)\n")
    (tmp_path / ".gitignore").write_text("/build/\n/ran\n")
    commit(tmp_path, "init", "--quiet")
    commit(tmp_path)
    monkeypatch.setattr(rings, "ROOT", tmp_path)
    monkeypatch.setattr(rings, "LOGS", tmp_path / "build")
    monkeypatch.setenv("MAKEFLAGS", "")
    return tmp_path


def commit(folder: Path, *words: str) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    for command in [words] if words else [("add", "--all"), ("commit", "--quiet", "--message", "one")]:
        subprocess.run([*git, *command], cwd=folder, check=True)


def ran(folder: Path) -> list[str]:
    """The stages that have run since the last call."""
    file = folder / "ran"
    if not file.exists() or not file.read_text().endswith("\n"):
        return []
    found = file.read_text().split()
    file.unlink()
    return found


def ring(name: str, *stages: Stage) -> dict[str, Ring]:
    return {name: Ring(stages, "the moon")}


def stage(name: str, *reads: str, then: str = "true") -> Stage:
    return Stage(name, f"echo {name} >>ran; {then}", 1, reads or (".",))


def test_every_stage_runs_and_failures_are_told_at_the_end(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = ring("test", stage("a", then="echo why; false"), stage("b", then="echo 12 passed in 3 s"))
    assert rings.main(["test", "--groups", "ray"], stages) == 1
    said = capsys.readouterr().out
    assert ran(checkout) == ["a", "b"]
    assert (checkout / "build" / "test-set-up.log").read_text() == "set up ray\n"
    assert "why" in said and "12 passed in 3 s" in said and "the moon" in said
    ends = said[said.index("\ntest:") :]
    assert (
        "a                        FAILED in 0:0" in ends and "b                        passed in 0:0" in ends
    )


def test_what_was_skipped_is_told_last_with_the_reasons(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [
        "SKIPPED [2] tests/a.py:5: rayon is not set up: make setup GROUPS=rust",
        "SKIPPED [1] tests/b.py:7: rayon is not set up: make setup GROUPS=rust",
        "\t  3 - rt.Sleep (Skipped)",
    ]
    stages = ring("test", stage("a", then="; ".join(f"echo '{line}'" for line in said)))
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".groups").write_text("default\nray\n")
    assert rings.main(["test"], stages) == 0
    *_, title, one, other, groups = capsys.readouterr().out.splitlines()
    assert title == "Skipped:"
    assert one.split(maxsplit=1) == ["3", "rayon is not set up: make setup GROUPS=rust"]
    assert other.split(maxsplit=1) == ["1", "rt.Sleep (CTest)"]
    assert groups.startswith("Not set up, and so not tested: systems of charmpp, ") and "ray," not in groups


def test_nothing_runs_without_a_set_up(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "Makefile").write_text("setup-dev:\n\tfalse\n")
    assert rings.main(["test"], ring("test", stage("a"))) == 1
    assert ran(checkout) == []
    assert "set-up                   FAILED" in capsys.readouterr().out


def test_the_deep_ring_goes_on_where_it_was(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fails_once = stage("b", then="test -e build/second || { touch build/second; false; }")
    stages = ring("deep", stage("a", "src"), fails_once)
    assert rings.main(["deep"], stages) == 1
    assert rings.main(["deep"], stages) == 0
    assert ran(checkout) == ["a", "b", "b"]
    assert "a                        has passed before" in capsys.readouterr().out
    (checkout / "two").write_text("another")
    assert rings.main(["deep"], stages) == 0
    assert ran(checkout) == ["b"]  # which reads everything
    (checkout / "src" / "three").write_text("new, and not known to git")
    assert rings.main(["deep"], stages) == 0
    assert ran(checkout) == ["a", "b"]
    assert rings.main(["deep", "--anew"], stages) == 0
    assert ran(checkout) == ["a", "b"]
    assert rings.main(["deep", "a"], stages) == 0
    assert ran(checkout) == ["a"]
    (checkout / "two").chmod(0o755)
    (checkout / "build" / "deep.json").write_text('{"a": "torn')
    assert rings.main(["deep"], stages) == 0
    assert ran(checkout) == ["a", "b"]


def test_what_changes_while_it_is_tested_has_not_passed(checkout: Path) -> None:
    stages = ring("deep", stage("a", "src", then="echo 3 >src/one"))
    assert rings.main(["deep"], stages) == 0
    (checkout / "src" / "one").write_text("1")
    assert rings.main(["deep"], stages) == 0
    assert ran(checkout) == ["a", "a"]


def test_a_folder_that_another_repository_ignores_is_not_known(checkout: Path) -> None:
    inner = checkout / "build" / "inner"
    inner.mkdir(parents=True)
    commit(checkout, "tag", "v1")
    (checkout / "two").write_text("another")
    commit(checkout)
    rings.ROOT = inner
    assert (rings.tested_before(), rings.digest(stage("a"))) == (None, "")


def test_variables_of_the_shell_do_not_count(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GTEST_FILTER", "None.*")
    assert rings.main(["test", "a"], ring("test", stage("a", then="test -z ${GTEST_FILTER-}"))) == 0
    assert "GTEST_FILTER of your shell does not count here" in capsys.readouterr().out


def test_two_rings_at_once(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "build").mkdir()
    with (checkout / "build" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert rings.main(["test"], ring("test", stage("a"))) == 1
    assert "another ring runs in this checkout" in capsys.readouterr().err
    assert ran(checkout) == []


def test_a_submission_leaves_out_what_has_not_changed(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = ring("submission", stage("a", "src"), stage("b", "two"))
    assert rings.main(["submission"], stages) == 0
    assert ran(checkout) == ["a", "b"]  # there is neither a tag nor another branch
    commit(checkout, "tag", "v1")
    assert rings.main(["submission"], stages) == 0
    assert ran(checkout) == ["a", "b"]  # the tag is what is to be tested
    (checkout / "two").write_text("another")
    commit(checkout)
    assert rings.main(["submission"], stages) == 0
    assert ran(checkout) == ["b"]
    assert "a                        left out: nothing that it reads has changed" in capsys.readouterr().out
    assert rings.main(["submission", "--since", "nothing"], stages) == 0
    assert ran(checkout) == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["moon"], "invalid choice: 'moon'"),
        (["test", "c"], "STAGE: 'c' is not allowed; allowed: a"),
        (["test", "--since", "never"], "--since: 'never' is not allowed; allowed: `nothing`, and a commit"),
        (["test", "--groups", "ray -n"], "--groups: 'ray -n' is not allowed; allowed: `all`, and names"),
        (["test-ci"], "'submission'"),
    ],
)
def test_refusals(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        rings.main(words, ring("test", stage("a")))
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_an_interrupt_leaves_nothing_running(checkout: Path) -> None:
    """A stage whose processes are in its own group, as those of make are."""
    program = (
        "import rings, signal, sys\n"
        "from pathlib import Path\n"
        f"rings.ROOT = rings.LOGS = Path({str(checkout)!r})\n"
        "ring = {'test': rings.Ring((rings.Stage('a', 'setsid sleep 3600 & echo $! >ran; wait', 1),), '')}\n"
        "rings.main(['test', 'a'], ring)\n"
    )
    path = str(Path(rings.__file__).parent)
    with subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}) as process:
        while not (started := ran(checkout)):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(300) != 0
    while Path(f"/proc/{started[0]}").exists():  # pytest's own limit of time ends this
        time.sleep(0.01)


def test_every_stage_of_the_rings_can_be_called() -> None:
    """What it reads is there, and make, CMake and CTest know what it asks for."""
    root = Path(rings.__file__).parents[1]
    presets = json.loads((root / "CMakePresets.json").read_text())
    kinds = {"cmake --preset": "configure", "cmake --build --preset": "build", "ctest --preset": "test"}
    for one in rings.RINGS.values():
        assert one.left_out
        assert len({stage.name for stage in one.stages}) == len(one.stages)
        for stage in one.stages:
            assert all((root / path).exists() for path in stage.reads), stage.name
            program, *words = stage.command.split()
            if program != "make":
                assert os.access(root / program, os.X_OK), stage.name
                continue
            done = subprocess.run(["make", "-n", *words], cwd=root, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            for command, kind in kinds.items():
                for name in re.findall(rf"^{command} (\S+)", done.stdout, re.M):
                    assert name in {preset["name"] for preset in presets[f"{kind}Presets"]}, stage.name


def test_a_ring_that_make_does_not_know() -> None:
    root = Path(rings.__file__).parents[1]
    done = subprocess.run(["make", "-n", "lint", "RING=moon"], cwd=root, capture_output=True, text=True)
    allowed = "fast, test, submission, deep, groups, examples"
    assert f"RING=moon: 'moon' is not allowed; allowed: {allowed}" in done.stderr


def test_what_has_tested_nothing_has_not_passed(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stages = ring("deep", stage("a", then="echo 'aarch64: NOT TESTED, no qemu'"))
    for _ in range(2):
        assert rings.main(["deep"], stages) == 0
        assert "NOT TESTED: aarch64: NOT TESTED" in capsys.readouterr().out
    assert ran(checkout) == ["a", "a"]
