"""The git commit of a folder, and of one that is another user's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from taskgrain.machine.commit import commit

ASK = "import sys; from pathlib import Path; from taskgrain.machine.commit import commit; f = Path(sys.argv[1]); print(commit(f, 12) or commit(f, 12))"  # noqa: E501


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "file").touch()
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)
    return tmp_path


def test_a_change_makes_it_dirty(checkout: Path) -> None:
    clean = commit(checkout, 12)
    assert len(clean) == 12
    (checkout / "file").write_text("changed")
    assert commit(checkout, 12) == f"{clean}-dirty"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_refusal_of_git_is_said_once_and_can_be_lifted(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    for file in [checkout, *checkout.rglob("*")]:
        os.chown(file, 12345, 12345)

    def ask() -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-c", ASK, str(checkout)],
            env=os.environ | {"HOME": str(home)},
            capture_output=True,
            text=True,
        )
        return done.stdout.strip(), done.stderr

    found, said = ask()
    assert (found, said.count("\n")) == ("", 1)
    subprocess.run(said.split("allow it: ")[1].split(), env=os.environ | {"HOME": str(home)}, check=True)
    found, said = ask()
    assert (len(found), said) == (12, "")


def test_no_checkout_has_none(tmp_path: Path) -> None:
    assert commit(tmp_path, 12) == ""
