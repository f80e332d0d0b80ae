"""Cases: how the programs of a folder are called, and which hold."""

import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parents[3] / "tools" / "cases"
PRINTS = '#include <stdio.h>\nint main(int count, char** words) { puts(count > 1 ? words[1] : "none"); }\n'
PROGRAMS = {
    "alone": f'// expected "none"\n{PRINTS}',
    "wrong": f'// expected "x 100", prints something else\n{PRINTS}',
    "called": f"// ./a.out one|two [more]\n{PRINTS}",
    "told": PRINTS,
    "ranks": f"// taskgrain-run -n 3 ./a.out (with ASan)\n{PRINTS}",
    "fails": "int main() { return 7; }",
    "endless": "#include <unistd.h>\nint main() { for (;;) pause(); }",
    "broken": "int main() { return missing; }",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Cases, and an installation that runs the ranks of a program one after the other."""
    (tmp_path / "rt").mkdir()
    for name, text in PROGRAMS.items():
        (tmp_path / "rt" / f"{name}.cpp").write_text(text)
    (tmp_path / "README.md").write_text("Try `rt/told 42`, or `rt/told … 7`.\n")
    for name in ("include", "lib", "bin"):
        (tmp_path / name).mkdir()
    subprocess.run(["ar", "rcs", tmp_path / "lib" / "libtaskgrain_rt.a"], check=True)
    launcher = tmp_path / "bin" / "taskgrain-run"
    launcher.write_text('#!/bin/sh\nfor rank in $(seq $2); do "$3"; done; echo $2 ranks ran\n')
    launcher.chmod(0o755)
    return tmp_path


def tried(folder: Path, *words: str) -> tuple[int, list[list[str]]]:
    """Returns the exit code, and the lines in words."""
    command = [sys.executable, CASES, folder, "--installed", folder, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, [line.split() for line in (done.stdout + done.stderr).splitlines()]


def test_cases_that_hold(folder: Path) -> None:
    code, lines = tried(folder, "alone", "called", "told", "ranks")
    assert code == 0
    assert [(line[0], line[1], line[-1]) for line in lines[:4]] == [
        ("holds", "alone", "none"),
        ("ended", "called", "one"),
        ("ended", "called", "two"),
        ("ended", "told", "42"),
    ]
    assert lines[4][:4] == ["ended", "ranks", "(3", "ranks)"] and lines[4][-3:] == ["3", "ranks", "ran"]
    assert " ".join(lines[5]) == "1 hold, 4 ended, 0 fail"


def test_cases_that_do_not_hold_say_why(folder: Path) -> None:
    code, lines = tried(folder, "wrong", "fails", "broken")
    said = [" ".join(line) for line in lines]
    assert code == 1 and said[-1] == "0 hold, 0 ended, 3 fail"
    for line, why in zip(said, ("no 'x 100'", "rc 7", "does not compile"), strict=False):
        assert line.startswith("FAILS") and why in line


def test_a_case_that_does_not_end_is_ended(folder: Path) -> None:
    code, lines = tried(folder, "endless", "--seconds", "0.1")
    assert code == 1 and " ".join(lines[0]) == "FAILS endless does not end"


def test_a_case_that_is_not_there_is_refused(folder: Path, tmp_path: Path) -> None:
    code, lines = tried(folder, "other")
    assert code == 2 and "other: no such case; there are: alone, broken," in " ".join(lines[0])
    assert tried(tmp_path / "lib")[0] == 2
