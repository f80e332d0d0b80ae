"""`taskgrain presets`, and --like where it is used."""

import json
from pathlib import Path

from command_line import Command

from taskgrain.study import presets


def test_all_are_listed_with_the_flags_that_say_the_same(taskgrain: Command) -> None:
    shown = taskgrain("presets")
    assert (shown.code, shown.err) == (0, "")
    for name in presets.names():
        (line,) = [one for one in shown.out.splitlines() if one.split()[:1] == [name]]
        assert presets.read(name).title in line and "--pattern " in line


def test_one_is_explained(taskgrain: Command) -> None:
    shown = taskgrain("presets", "halo-2d")
    assert " ".join(presets.read("halo-2d").text.split()) in " ".join(shown.out.split())
    same = "--like halo-2d is the same as --pattern stencil_2d --tasks-per-core 8 --output-bytes 4K"
    assert shown.out.splitlines()[-1] == same
    (found,) = json.loads(taskgrain("presets", "halo-2d", "--json").out)
    assert found["fields"] == {"pattern": "stencil_2d", "tasks_per_core": 8, "output_bytes": "4K"}
    assert len(json.loads(taskgrain("presets", "--json").out)) == len(presets.names())


def test_an_unknown_one_is_refused_with_what_may_be_meant(taskgrain: Command) -> None:
    result = taskgrain("presets", "halo2d").refusal()
    assert "is not allowed. Did you mean halo-2d? Allowed: fft, halo-1d," in result
    assert "wavefront is not allowed. Did you mean sweep?" in taskgrain("presets", "wavefront").refusal()


def test_like_is_an_option_of_a_graph(taskgrain: Command, systems: Path) -> None:
    words = ("--systems", systems, "--like", "halo-2d", "--cores", 1, "--steps", 10)
    assert taskgrain("run", *words).out.startswith(
        "fast (simulated)  stencil_2d/width=8/output_bytes=4096, 10 steps"
    )
    stats = json.loads(taskgrain("graph", "--like", "halo-2d", "--width", 9, "--stats", "--json").out)
    assert stats["most_dependences"] == 5
    both = taskgrain("run", *words, "--pattern", "fft").refusal()
    assert "--pattern: give this or --like, not both" in both
