"""tools/gpu-check without a GPU: what it refuses, and that it goes on where steps fail."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "tools" / "gpu-check"
PARTS: dict[str, Any] = runpy.run_path(str(SCRIPT))


def test_a_step_that_fails_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = PARTS["Check"](tmp_path / "out", 60)
    check.work = tmp_path
    check.step("first", lambda: check.call("false", limit=50))
    check.step("second", lambda: check.call("echo", "found", limit=50).strip())
    check.end = 0
    check.step("third", lambda: "")
    steps = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [(one["step"], one["ok"]) for one in steps] == [
        ("first", False),
        ("second", True),
        ("third", False),
    ]
    assert steps[1]["found"] == "found"
    assert steps[2]["found"] == "no time was left"
    assert "ok" in capsys.readouterr().out


def test_a_command_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    check = PARTS["Check"](tmp_path, 60)
    check.work = tmp_path
    with pytest.raises(RuntimeError, match="ended with 1: it is broken"):
        check.call(sys.executable, "-c", "exit('it is broken')", limit=50)
    assert "it is broken" in (tmp_path / "gpu-check.log").read_text()


def test_the_lines_that_it_breaks_are_there() -> None:
    for driver in PARTS["DRIVERS"].values():
        source = SCRIPT.parents[1] / "systems" / driver.folder / driver.source
        assert source.read_text("utf-8").count(driver.right) == 1
