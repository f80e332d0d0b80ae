"""Tests of the end of the program: its exit code, and one line instead of a stack trace."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import TextIO

import pytest
import typer
from command_line import Command, called, process
from killable_study import program

import taskgrain
from taskgrain import _core
from taskgrain.cli import main as module
from taskgrain.cli.app import EXAMPLES
from taskgrain.words.errors import InputError, Interrupted, OutputError, TaskgrainError, UsageError


@pytest.mark.parametrize("verb", EXAMPLES)
def test_an_error_is_a_json_document_for_programs(verb: str) -> None:
    for words in (["--nope"], ["--system", ","]):
        shown = called(verb, *words, "--json")
        assert shown.code == 2, shown
        error = json.loads(shown.out)
        assert (error["schema"], error["exit_code"]) == (1, 2)
        assert shown.err.splitlines()[-1] == f"taskgrain: {error['error']}"


def test_an_answer_is_not_followed_by_the_error(taskgrain: Command, systems: Path) -> None:
    words = ("--systems", systems, "--system", "fast,picky", "--pattern", "dom", "--json")
    shown = taskgrain("run", *words)
    assert (shown.code, len(json.loads(shown.out)["runs"])) == (2, 1), shown


def ended(words: list[str], out: TextIO) -> subprocess.CompletedProcess[str]:
    """The end of a command that prints into `out`."""
    return subprocess.run(program(words), stdout=out, stderr=subprocess.PIPE, text=True, check=False)


ENDINGS: list[tuple[BaseException, int, str]] = [
    (InputError("--x", "1", "2"), 2, "--x: 1 is not allowed; allowed: 2"),
    (UsageError("two lines\n  become one"), 2, "two lines become one"),
    (OutputError("the disk is full"), 1, "the disk is full"),
    (TaskgrainError("something failed"), 1, "something failed"),
    (Interrupted("interrupted; go on later"), 130, "interrupted; go on later"),
    (KeyboardInterrupt(), 130, "interrupted"),
    (typer.Abort(), 130, "interrupted"),
    (FileNotFoundError(2, "No such file or directory", "a/b"), 1, "a/b: No such file or directory"),
    (OSError(28, "No space left on device"), 1, "No space left on device"),
    (OSError(27, "File too large"), 1, "File too large (ulimit -f)"),
    (OSError(24, "Too many open files"), 1, "Too many open files (ulimit -n)"),
    (OSError("no number"), 1, "no number"),
    (
        AttributeError("has no 'x'", name="x", obj=_core),
        1,
        "its core is older than its modules; build the project (make setup)",
    ),
]


@pytest.mark.parametrize(("error", "code", "line"), ENDINGS, ids=lambda one: type(one).__name__)
def test_an_error_ends_with_its_code_and_one_line(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    line: str,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(module, "app", fails)
    with open(os.devnull, "w") as out:
        monkeypatch.setattr("sys.stdout", out)  # which an error of the system closes
        with pytest.raises(SystemExit) as seen:
            module.main(["x"])
    assert seen.value.code == code
    assert capfd.readouterr().err == f"taskgrain: {line}\n"


@pytest.mark.parametrize("error", (ZeroDivisionError(), AttributeError("x", obj=module)))
def test_a_mistake_of_the_program_keeps_its_trace(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(module, "app", fails)
    with pytest.raises(type(error)):
        module.main(["x"])


def test_a_reader_that_stops_early_is_no_error_of_many_lines() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = ["graph", "--steps", "1e4", "--width", "16"]  # more than a pipe or a buffer holds
    with os.fdopen(writing, "w") as out:
        done = ended(words, out)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["--version"], ["graph", "--steps", "1e3"]], ids=" ".join)
def test_a_full_disk_is_told(words: list[str]) -> None:
    with open("/dev/full", "w") as out:
        done = ended(words, out)
    assert (done.returncode, done.stderr) == (1, "taskgrain: No space left on device\n")


def test_ctrl_c_ends_with_130_and_one_line() -> None:
    words = ["graph", "--steps", "1e6", "--width", "64"]
    with subprocess.Popen(program(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stderr is not None
        assert child.stdout.readline().startswith('{"step":0')
        child.send_signal(signal.SIGINT)
        _, said = child.communicate()
    assert (child.returncode, said) == (130, "taskgrain: interrupted\n")


def test_what_a_shell_says_to_python_is_ignored(tmp_path: Path) -> None:
    for name in ("rich", "click", "typing_extensions"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('the module system has its own')\n")
    shell = {"PYTHONPATH": str(tmp_path), "PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2"}
    shown = process("presets", **shell)
    assert (shown.code, shown.err) == (0, "")
    text = "Runs one configuration, and prints every sample."  # a docstring
    assert text in process("run", "--help", **shell).out
    found_by = f"{tmp_path}:{Path(taskgrain.__file__).parents[1]}"
    assert text not in process("run", "--help", **(shell | {"PYTHONPATH": found_by})).out


@pytest.mark.parametrize("closed", ["0<&-", ">&- 2>&-", "0<&- >&- 2>&-"])
def test_streams_that_the_caller_closed_are_as_dev_null(closed: str) -> None:
    words = program(["run", "--system", "serial", "--steps", "10"])
    done = subprocess.run(
        ["sh", "-c", f'"$0" "$@" {closed}', *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
