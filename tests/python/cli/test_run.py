"""`taskgrain run`: one configuration on each system, every sample, and the failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Command

WORDS = ("run", "--iterations", "1e2", "--steps", "1e2", "--repeats", "3")


def test_prints_every_sample(taskgrain: Command, systems: Path) -> None:
    shown = taskgrain(*WORDS, "--systems", systems, "--cores", 1, "--width", 1)
    assert (shown.code, shown.err) == (0, "")
    title, samples, *rest = shown.out.splitlines()
    assert title == "fast  stencil_1d/width=1, 100 steps, 100 iterations"
    assert samples.count("µs") == 3
    told = {line.split()[0]: line.split(maxsplit=1)[1] for line in rest}
    assert told["tasks"] == "100 (all executed), 300 dependences"
    assert told["granularity"].endswith("per task on 1 cores")
    assert told["memory"] == "1 MiB"


def test_json_has_the_numbers(taskgrain: Command, systems: Path) -> None:
    value = json.loads(taskgrain(*WORDS, "--systems", systems, "--json", "--graphs", "2").out)
    assert value["schema"] == 1
    (one,) = value["runs"]
    assert (one["system"], one["steps"], one["iterations"]) == ("fast", 100, 100)
    assert len(one["seconds"]) == 3
    assert one["tasks"] == 100 * 2 * one["cores"]
    assert one["granularity"] == pytest.approx(7.4e-6, rel=0.1)
    assert one["warnings"] == []


def test_a_failure_is_shown_beside_what_succeeds(taskgrain: Command, systems: Path) -> None:
    words = ("run", "--systems", systems, "--system", "faulty,fast", "--pattern", "tree", "--steps", 10)
    shown = taskgrain(*words)
    assert shown.code == 1
    assert "validation: pattern: tree is not allowed" in shown.out
    assert shown.out.count("granularity") == 1
    failed, done = json.loads(taskgrain(*words, "--json").out)["runs"]
    assert (failed["system"], failed["error"]) == ("faulty", "validation")
    assert (done["system"], "error" in done) == ("fast", False)


def test_no_warm_up_and_one_repeat_will_do(taskgrain: Command, systems: Path) -> None:
    words = ("run", "--systems", systems, "--warmup", "0", "--repeats", "1", "--steps", 10, "--json")
    assert len(json.loads(taskgrain(*words).out)["runs"][0]["seconds"]) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--repeats", "0"], "--repeats: 0 is not allowed; allowed: an integer from 1 to 100000"),
        (["--repeats", ""], "--repeats: '' is not allowed"),
        (["--warmup", ""], "--warmup: '' is not allowed"),
        (["--warmup", "1e6"], "--warmup: 1e6"),
        (["--steps", "0"], "--steps: 0"),
        (["--pattern", "dom", "--system", "picky"], "pattern: dom is not allowed; allowed: others"),
    ],
)
def test_refusals(taskgrain: Command, systems: Path, words: list[str], message: str) -> None:
    result = taskgrain("run", "--systems", systems, *words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_a_dry_run_starts_no_driver(taskgrain: Command, systems: Path, tmp_path: Path) -> None:
    file = systems / "fast" / "system.toml"
    mark = tmp_path / "started"
    file.write_text(f'default = true\n[launch]\ncommand = ["/bin/sh", "-c", "touch {mark}"]\n')
    shown = taskgrain("run", "--systems", systems, "--dry-run", "--width", 3)
    assert (shown.code, shown.err) == (0, "")
    assert "fast/stencil_1d/width=3" in shown.out
    assert not mark.exists()
    plan = json.loads(taskgrain("run", "--systems", systems, "--dry-run", "--json").out)
    assert plan["seconds"] is None
