"""The verbs and what they have in common: help, examples, version, prefix."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import Command, process

import taskgrain as package
from taskgrain.cli.app import EXAMPLES, app


@pytest.mark.parametrize("verb", EXAMPLES)
def test_help_shows_the_example_and_bare_switches(taskgrain: Command, verb: str) -> None:
    result = taskgrain(verb, "--help")
    assert (result.code, result.err) == (0, "")
    assert "Example: " + EXAMPLES[verb] in " ".join(result.out.split())
    assert "<bool>" not in result.out
    assert taskgrain(verb, "-h").out == result.out


@pytest.mark.parametrize("verb", EXAMPLES)
def test_an_example_calls_its_verb_with_options_that_there_are(verb: str) -> None:
    program, named, *words = shlex.split(EXAMPLES[verb])
    assert (program, named) == ("taskgrain", verb)
    group: Any = typer.main.get_command(app)
    parent = group.make_context("taskgrain", [verb])
    found = group.get_command(parent, verb).make_context(verb, words, parent=parent).params
    assert any(value for value in found.values())


def test_help_lists_every_verb(taskgrain: Command) -> None:
    result = taskgrain("--help").printed()
    assert [verb for verb in EXAMPLES if re.search(rf"^\W*{verb} ", result, re.MULTILINE)] == [*EXAMPLES]
    assert "<bool>" not in result


def test_no_verb_shows_the_help_and_is_bad_input(taskgrain: Command) -> None:
    result = taskgrain()
    assert (result.code, result.err) == (2, "")
    assert result.out.strip() == taskgrain("--help").out.strip()


@pytest.mark.parametrize("words", [["frobnicate"], ["--frobnicate"]])
def test_another_verb_or_option_is_refused(taskgrain: Command, words: list[str]) -> None:
    assert "frobnicate" in taskgrain(*words).refusal()


def test_a_verb_with_a_typing_error_is_proposed(taskgrain: Command) -> None:
    assert "Did you mean 'study'?" in taskgrain("stuy").err


def modules_after(*words: str) -> set[str]:
    """The packages that the command has imported when it ends."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('\\n' + ' '.join(sys.modules)))\n"
        f"from taskgrain.__main__ import main; sys.argv[1:] = {list(words)!r}; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("words", "also"),
    [("--version", {"taskgrain.cli.options", "taskgrain.cli.run"}), ("--help", set()), ("graph", set())],
)
def test_short_commands_load_nothing_large(words: str, also: set[str]) -> None:
    large = {"altair", "jinja2", "numpy", "polars", "pydantic", "rich", "scipy", "vl_convert"}
    loaded = modules_after(words)
    assert "taskgrain.cli.app" in loaded
    assert not loaded & (large | also)


def test_the_list_of_systems_loads_only_what_prints_it() -> None:
    loaded = modules_after("systems")
    assert "rich.table" in loaded
    assert not loaded & {"altair", "jinja2", "numpy", "polars", "pydantic", "scipy", "vl_convert"}


def test_help_fits_the_terminal_and_names_the_kinds_of_options() -> None:
    for columns in (80, 120):
        shown = process("metg", "--help", COLUMNS=str(columns)).out
        assert max(map(len, shown.splitlines())) in range(columns - 20, columns)
        assert re.findall(r"^(\w+):$", shown, re.MULTILINE) == ["Options", "Measuring", "Graph"]
    every = process("--help", COLUMNS="80").out
    assert "..." not in every.replace("[ARGS]...", "")  # no verb's description is cut
    assert all(f"\n  {name} " in every for name in EXAMPLES)


def test_version(taskgrain: Command) -> None:
    result = taskgrain("--version")
    assert (result.code, result.out, result.err) == (0, f"taskgrain {package.__version__}\n", "")


def test_prefix_is_where_the_package_lies(
    taskgrain: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKGRAIN_PREFIX", str(tmp_path))
    result = taskgrain("--prefix")
    assert (result.code, result.out, result.err) == (0, f"{tmp_path}\n", "")
