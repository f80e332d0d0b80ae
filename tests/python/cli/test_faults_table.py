"""The table of `taskgrain faults`: a row for each system, and how those ended that did not survive."""

from dataclasses import replace
from typing import Any

import pytest

from taskgrain.cli.faults_table import _LONGEST, lost, row, shortened, show
from taskgrain.cli.printer import printer
from taskgrain.measure.faults import Measurement, summary


def outcome(*takes: Measurement, **more: Any) -> dict[str, Any]:
    fault = {"kind": "fail", "step": 5, "point": 1, "times": 2}
    named = {"system": "one", "workload": "stencil_1d", "steps": 9, "iterations": 0, "fault": fault}
    return named | {"log": ""} | summary(takes, [one.plain_seconds for one in takes]) | more


SURVIVED = Measurement(1.0, True, True, True, seconds=1.5, again=2, next_run="works")
SLOWER = Measurement(1.0, True, True, True, seconds=3.0, again=5, next_run="works")
CRASHED = Measurement(1.0, True, False, ended="crash: signal 9", next_run="works in a new driver")
WRONG = Measurement(1.0, True, True, False, ended="validation: skipped", next_run="works")


@pytest.mark.parametrize(
    ("takes", "cells"),
    [
        ([SURVIVED], ["yes", "yes", "2", "1.00 s", "500 ms", "works"]),
        (
            [SURVIVED, SLOWER],
            ["yes", "yes", "3.5 (2 to 5)", "1.00 s", "1.25 s (500 ms to 2.00 s)", "works"],
        ),
        ([CRASHED], ["no", "–", "–", "1.00 s", "–", "new driver"]),
        ([WRONG], ["yes", "no", "–", "1.00 s", "–", "works"]),
        (
            [SURVIVED, WRONG, CRASHED],
            ["2 of 3", "1 of 2", "2", "1.00 s", "500 ms", "works; new driver"],
        ),
        (
            [Measurement(1.0, False, True, True, seconds=1.0, again=0, next_run="works")],
            ["not struck", "–", "–", "1.00 s", "–", "works"],
        ),
    ],
)
def test_rows(takes: list[Measurement], cells: list[str]) -> None:
    assert row(outcome(*takes)) == ["one", *cells]


def test_a_row_without_a_run() -> None:
    assert row(outcome(error="crash")) == ["one", "failed without a fault", *"–––––"]
    assert row(outcome(error="unsupported", plain_seconds=0.5)) == [
        "one", "unsupported", "–", "–", "500 ms", "–", "–",
    ]  # fmt: skip


def test_noise_may_be_larger_than_the_loss() -> None:
    assert lost({"median": 0.001, "low": -0.002, "high": 0.003}) == "1.00 ms (-2.00 ms to 3.00 ms)"
    assert lost(None) == "–"


def test_the_cause_at_the_end_of_a_long_text_is_kept() -> None:
    long = "RayTaskError: " + "no input, " * 100 + "a worker died"
    assert shortened(long).startswith("RayTaskError: no") and shortened(long).endswith("a worker died")
    assert len(shortened(long)) <= _LONGEST + 3
    assert shortened("short") == "short"
    assert shortened("\ufffd[36mray::execute()\ufffd[39m died") == "ray::execute() died"


def test_what_is_said_beside_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    missed = Measurement(1.0, False, True, True, seconds=1.0, again=0, next_run="works")
    crashes = [replace(CRASHED, ended=f"crash: signal {number}") for number in (9, 6)]
    show(
        printer(),
        [
            outcome(*crashes, WRONG, busy=0.25),
            outcome(missed),
            outcome(error="system", message="it is broken", log="a log"),
            outcome(error="unsupported", message="no core to lose"),
        ],
    )
    out = capsys.readouterr().out
    assert out.startswith("stencil_1d, 9 steps: task (5, 1) fails, 2 times\n")
    assert "one: crash: signal 9\none: validation: skipped\n" in out and "signal 6" not in out
    assert "one: in 1 of 1 run the fault does not reach where the tasks are executed" in out
    assert "one, without any fault: system: it is broken\na log\n" in out
    assert "one: unsupported: no core to lose" in out
    assert "one: Others took 25" in out
