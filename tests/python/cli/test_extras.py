"""What one command alone needs: without it, the command says how to install it."""

from __future__ import annotations

import sys
import tomllib

import pytest
from command_line import Command
from driver_process import REPOSITORY

from taskgrain.productivity import tokens

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"].keys() - {"dev"}))
def test_a_command_says_what_to_install(
    taskgrain: Command, monkeypatch: pytest.MonkeyPatch, extra: str
) -> None:
    for requirement in PROJECT["optional-dependencies"][extra]:
        monkeypatch.setitem(sys.modules, requirement.split("==")[0].replace("-", "_"), None)
    monkeypatch.delitem(sys.modules, "taskgrain.results.export", raising=False)
    tokens._parser.cache_clear()
    done = taskgrain(extra, *(["docs/results"] if extra == "export" else []))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.endswith(f"not installed: {sys.executable} -m pip install 'taskgrain[{extra}]'\n")
