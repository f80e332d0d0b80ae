"""The recipes for CI: the steps of each are run in a repository with a real system, as on a CI server."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import history_store as made
import pytest
import yaml

from taskgrain.history import store

TEMPLATES = Path(__file__).parents[3] / "templates"
BRANCH = "taskgrain-history"


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime's repository: its driver is the template in Python; a session takes a few seconds."""
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    origin, folder = tmp_path / "origin.git", tmp_path / "runtime"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    git(tmp_path, "clone", "--quiet", str(origin), str(folder))
    shutil.copytree(TEMPLATES / "system-python", folder / "driver" / "mine")
    (folder / "driver" / "Makefile").write_text("all:\n")
    shutil.copytree(TEMPLATES / "ci", folder / "ci")
    study = folder / "ci" / "metg.toml"
    text = study.read_text()
    short = text[: text.rindex("[[workloads]]")].replace("budget = 600", "budget = 4")
    assert short.count("[[workloads]]") == 1 and "budget = 4" in short
    study.write_text(short)
    commit(folder)
    return folder


def commit(folder: Path) -> str:
    git(folder, "add", "--all", "ci", "driver")
    who = ("-c", "user.name=me", "-c", "user.email=me@localhost")
    git(folder, *who, "commit", "--quiet", "--allow-empty", "-m", "Change the runtime")
    git(folder, "push", "--quiet", "origin", "HEAD:main")
    return git(folder, "describe", "--always", "--abbrev=12")


def shell(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", **variables}
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def github() -> str:
    (job,) = yaml.safe_load((TEMPLATES / "ci" / "github.yml").read_text())["jobs"].values()
    return "\n".join(step["run"].strip() for step in job["steps"] if "run" in step)


def gitlab() -> str:
    (job,) = yaml.safe_load((TEMPLATES / "ci" / "gitlab.yml").read_text()).values()
    return "\n".join(job["script"])


def kept(folder: Path) -> list[str]:
    """The labels of the sessions that the origin has."""
    file = folder.parent / "kept.jsonl"
    file.write_text(git(folder.parent / "origin.git", "show", f"{BRANCH}:history.jsonl") + "\n")
    return [one.label for one in store.read(file).logs]


@pytest.mark.submission
def test_a_job_measures_and_keeps_the_session_of_each_commit(repository: Path) -> None:
    labels = []
    for _ in range(2):
        labels.append(commit(repository))
        done = shell(repository, github(), HISTORY_URL=str(repository.parent / "origin.git"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "1 too few sessions" in done.stdout
        assert kept(repository) == labels
    (suite,) = ElementTree.parse(repository / "junit.xml").getroot()
    assert [case.get("classname") for case in suite] == ["taskgrain.mine"]
    assert "<svg" in (repository / "history.html").read_text()


def begun(repository: Path, values: list[float]) -> None:
    """A history that has these sessions already."""
    folder = repository.parent / "begun"
    made.grown(folder / "history.jsonl", values, "mine")
    git(folder, "init", "--quiet")
    git(folder, "add", "history.jsonl")
    git(folder, "-c", "user.name=me", "-c", "user.email=me@localhost", "commit", "--quiet", "-m", "Begin")
    git(folder, "push", "--quiet", str(repository.parent / "origin.git"), f"HEAD:refs/heads/{BRANCH}")


def test_a_session_with_a_regression_is_kept_and_fails_the_job(repository: Path) -> None:
    *earlier, newest = made.scattered((15, 1.0), (5, 1.3))
    begun(repository, earlier)
    made.folder(repository / "results", made.metg("mine", newest, made.BEGIN + 20 * made.DAY), name="newest")
    done = shell(repository, "sh ci/keep-history.sh --margin 10%")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 slower" in done.stdout and 'type="slower"' in (repository / "junit.xml").read_text()
    commit = git(repository, "describe", "--always", "--abbrev=12")
    assert kept(repository) == [*(f"c{number}" for number in range(19)), commit]
    assert shell(repository, "sh ci/keep-history.sh --known c15").returncode == 0
    assert len(kept(repository)) == 20, "the same session is not added again"


def test_the_steps_of_both_recipes_measure_and_judge_alike() -> None:
    def own(script: str) -> list[str]:
        return [line for line in script.splitlines() if not line.startswith("git remote")]

    assert own(github()) == own(gitlab())
