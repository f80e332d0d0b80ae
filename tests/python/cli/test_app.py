"""The verbs and what they have in common: help, examples, version, prefix."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import Command

import taskgrain as package
from taskgrain.cli.app import VERBS, app

EXAMPLES = {verb.__name__: example for verb, example in VERBS.items()}


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
    result = taskgrain("--help")
    assert result.code == 0
    assert [verb for verb in EXAMPLES if re.search(rf"^\W*{verb} ", result.out, re.MULTILINE)] == [*EXAMPLES]
    assert "<bool>" not in result.out


def test_no_verb_shows_the_help_and_is_bad_input(taskgrain: Command) -> None:
    result = taskgrain()
    assert (result.code, result.err) == (2, "")
    assert result.out.strip() == taskgrain("--help").out.strip()


@pytest.mark.parametrize("words", [["frobnicate"], ["--frobnicate"]])
def test_another_verb_or_option_is_refused(taskgrain: Command, words: list[str]) -> None:
    result = taskgrain(*words)
    assert (result.code, result.out) == (2, "")
    assert "frobnicate" in result.err


def test_version(taskgrain: Command) -> None:
    result = taskgrain("--version")
    assert (result.code, result.out, result.err) == (0, f"taskgrain {package.__version__}\n", "")


def test_prefix_is_where_the_package_lies(
    taskgrain: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKGRAIN_PREFIX", str(tmp_path))
    result = taskgrain("--prefix")
    assert (result.code, result.out, result.err) == (0, f"{tmp_path}\n", "")
