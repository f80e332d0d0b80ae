"""`taskgrain run`: one configuration on each system, every sample, and the failures."""

import json
import re
from pathlib import Path

import pytest
from command_line import Command

from taskgrain.cli.run import _counters, _efficiency, _memory
from taskgrain.measure.progress import Progress, Reporter

WORDS = ("run", "--iterations", "1e2", "--steps", "1e2", "--repeats", "3")


def test_prints_every_sample(taskgrain: Command, systems: Path) -> None:
    shown = taskgrain(*WORDS, "--systems", systems, "--cores", 1, "--width", 1)
    assert (shown.code, shown.err) == (0, "")
    title, samples, *rest = shown.out.splitlines()
    assert title == "fast (simulated)  stencil_1d/width=1, 100 steps, 100 iterations"
    assert samples.count("µs") == 3
    told = {line.split()[0]: line.split(maxsplit=1)[1] for line in rest}
    assert told["tasks"] == "100 (all executed), 300 dependences"
    assert told["validation"] == "sample: the driver found nothing wrong"
    assert told["granularity"].endswith("per task on 1 core")
    assert told["memory"] == "1 MiB"


def test_counters_where_there_are_none(taskgrain: Command, systems: Path) -> None:
    shown = taskgrain(*WORDS, "--systems", systems, "--counters")
    assert "  counters    not known: the system is a simulation\n" in shown.out


def test_memory_and_counters_are_told_by_the_task() -> None:
    one = {"peak_rss_bytes": 2**24, "growth_bytes": 2**20, "tasks_in_flight": 1024, "tasks": 1000}
    assert _memory(one) == "16 MiB; 1 MiB came with the run, 1 KiB for each of the 1024 tasks of a step"
    for few in (0, 2, 999):  # 0 of a DAG
        assert _memory(one | {"tasks_in_flight": few}) == "16 MiB; 1 MiB came with the run"
    one |= {"counters": {"instructions": 5e6, "cache_misses": 2500.0}, "seconds": [1.0] * 4, "warmup": 1}
    told = "1000 instructions, 0.5 cache misses a task, preparation and warm-up included"
    assert _counters(one) == told


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


def test_tasks_without_work_have_a_rate_of_tasks(taskgrain: Command, systems: Path) -> None:
    done = taskgrain("run", "--system", "fast", "--systems", systems, "--iterations", "0")
    assert re.search(r"rate +[\d.]+ [kMG]?task/s", done.out)


def test_no_warm_up_and_one_repeat_will_do(taskgrain: Command, systems: Path) -> None:
    words = ("run", "--systems", systems, "--warmup", "0", "--repeats", "1", "--steps", 10, "--json")
    assert len(json.loads(taskgrain(*words).out)["runs"][0]["seconds"]) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--repeats", "0"], "--repeats: 0 is not allowed; allowed: an integer from 1 to 100000"),
        (["--iterations", "20xs"], "allowed: an integer at least 0, or a time"),
        (["--iterations", "9us", "--kernel", "empty"], "--iterations: a time needs tasks that work"),
        (["--pattern", "dom", "--system", "picky"], "pattern: dom is not allowed; allowed: others"),
        (["--hosts", "elsewhere"], "--hosts: elsewhere is not allowed; allowed: hosts that include this one"),
        (["--hostfile", "missing"], "--hostfile: missing is not allowed; allowed: a file that can be read"),
        (["--nodes", "2"], "--nodes: fast is not distributed: it runs on one node"),
        (["--nodes", "0"], "--nodes: 0 is not allowed; allowed: an integer from 1 to 100000"),
    ],
)
def test_refusals(taskgrain: Command, systems: Path, words: list[str], message: str) -> None:
    assert message in taskgrain("run", "--systems", systems, *words).refusal()


def test_a_task_time_in_the_place_of_iterations(taskgrain: Command, systems: Path) -> None:
    words = ("run", "--systems", systems, "--steps", 100, "--iterations", "64us", "--cores", 1)
    shown = taskgrain(*words)
    assert (shown.code, shown.err) == (0, "")
    told = {line.split()[0]: line.split(maxsplit=1)[1] for line in shown.out.splitlines()[2:]}
    assert told["work"].startswith("64.0 µs asked for: ") and told["work"].endswith(" alone")
    assert told["efficiency"].endswith("of the kernel alone, over the repeats of this one run")
    (one,) = json.loads(taskgrain(*words, "--json").out)["runs"]
    assert one["iterations"] == pytest.approx(1000, rel=0.05)
    assert (one["asked_seconds"], one["task_seconds"]) == (64e-6, pytest.approx(64e-6, rel=0.05))
    assert one["efficiency_low"] < one["efficiency"] < one["efficiency_high"]


def test_an_interval_without_an_upper_bound_is_remarked_on() -> None:
    known = {"efficiency": 0.8, "efficiency_low": 0.25, "efficiency_high": 2.55}
    assert _efficiency(known).endswith("this one run; they differ too much for an upper bound")
    assert _efficiency(known | {"efficiency_high": 1.02}).endswith("over the repeats of this one run")


def test_a_person_who_waits_sees_how_far_it_is(
    taskgrain: Command, systems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Progress] = []

    class Seen(Reporter):
        def show(self, progress: Progress) -> None:
            seen.append(progress)

    monkeypatch.setattr("taskgrain.measure.progress.reporter", lambda quiet: Seen())
    taskgrain(*WORDS, "--systems", systems, "--system", "fast,faulty,picky")
    assert [one.current for one in seen] == ["fast", "faulty", "picky"]
    assert [one.done for one in seen] == [0, 1, 2] and seen[0].seconds_left is None
    assert seen[0].share <= seen[1].share <= seen[2].share < 1.0
