"""The hash of a build: what changes a driver changes it, and nothing else does."""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from driver_process import runnable

from taskgrain import _core
from taskgrain.drive.builds import Builds
from taskgrain.drive.system import System
from taskgrain.drive.system_file import read
from taskgrain.study.workload import REFERENCE

TEXT = """
[probe]
files = ["{dir}/library.so", "/dev/null"]
[launch]
command = ["{python}", "{dir}/driver.py", "-n", "{cores}", "{dir}"]
env = { THREADS = "{cores}" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    system = tmp_path / "systems" / "mine"
    system.mkdir(parents=True)
    (system / "system.toml").write_text(TEXT)
    for name in ("driver.py", "tasks.py", "library.so", "notes.txt"):
        (system / name).write_text("1")
    (tmp_path / "reference").write_text("1")
    return system


def build(folder: Path, change: Callable[[System], System] = lambda one: one) -> str:
    reference = next(one / "reference" for one in folder.parents if (one / "reference").exists())
    return Builds({REFERENCE: [str(reference)]}).of(change(read(folder)))


def test_the_same_files_are_the_same_build_wherever_they_lie(folder: Path) -> None:
    before = build(folder)
    assert len(before) == 16 and int(before, 16)
    moved = folder.parent.parent / "elsewhere" / "mine"
    shutil.copytree(folder, moved)
    (moved / "notes.txt").write_text("2")
    (moved / "driver.py").touch()
    assert build(moved) == before


@pytest.mark.parametrize("name", ["driver.py", "tasks.py", "library.so", "../../reference"])
def test_another_content_is_another_build(folder: Path, name: str) -> None:
    before = build(folder)
    (folder / name).write_text("2")
    assert build(folder) != before
    (folder / name).write_text("1")
    assert build(folder) == before


CHANGES: dict[str, Callable[[System], System]] = {
    "word": lambda one: replace(one, command=(*one.command, "--eager")),
    "environment": lambda one: replace(one, env={"THREADS": "1"}),
    "package": lambda one: replace(one, versions=("numpy",)),
    "interpreter": lambda one: replace(one, command=("sh", *one.command[1:])),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_command_is_another_build(folder: Path, change: Callable[[System], System]) -> None:
    assert build(folder, change) != build(folder)


def test_the_program_is_looked_for_where_the_shell_would(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "launcher"
    program.parent.mkdir()
    program.write_text("1")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))

    def launched(one: System) -> System:
        return replace(one, command=("launcher", "{dir}/driver.py"))

    before = build(folder, launched)
    program.write_text("2")
    assert build(folder, launched) != before


def compiled(commit: str, work: bytes = b"1") -> bytes:
    """The part of a program that the commit changes: its name, and the linker's hash of the whole."""
    mark = f"@(#)taskgrain commit {commit}".encode().ljust(80, b"\0")
    linked = hashlib.sha1(mark + work).digest()
    return b"\x7fELF" + bytes.fromhex("040000001400000003000000") + b"GNU\0" + linked + mark + work


def test_another_commit_alone_is_no_other_build(folder: Path) -> None:
    def built(content: bytes) -> str:
        (folder / "library.so").write_bytes(content)
        return build(folder)

    before = built(compiled("a" * 40))
    assert built(compiled("b" * 40 + "-dirty")) == before
    assert built(compiled("a" * 40, b"2")) != before


def test_drivers_and_the_core_mark_their_commit() -> None:
    for file in (Path(_core.__file__), *(one.folder / "driver" for one in runnable().values())):
        if file.is_file():
            assert file.read_bytes().count(b"@(#)taskgrain commit ") >= 1, file


def test_what_cannot_be_read_counts_by_its_name(folder: Path) -> None:
    def missing(name: str) -> str:
        return build(folder, lambda one: replace(one, command=(f"{{dir}}/{name}",)))

    assert missing("a") == missing("a") != missing("b")
