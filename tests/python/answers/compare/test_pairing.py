"""Why measurements of two sessions cannot be compared; test_cells has what came of the others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskgrain.answers.compare.pairing import differences, settings, too_far_apart, usual, variables
from taskgrain.estimate.sample import Sample
from taskgrain.estimate.sessions import USUAL, USUAL_OF_ONE
from taskgrain.results.lines import SessionLine
from taskgrain.results.measurements import Measurement

SESSION = SessionLine(machine="m", host="n1", kernel="6.1", cpu="CPU 1", governor="performance", cores=(0, 1))
MEASUREMENT = Measurement(
    *(Path("r"), "mpi", "fft/width=4", "aaaa"),
    session=SESSION,
    reference="taskgrain-reference",
    reference_build="feed",
    settings={"threshold": 0.5, "isa": "auto"},
    cores=2,
    begin=0.0,
    end=60.0,
)
HOUR = 3600.0


def elsewhere(**changes: Any) -> Measurement:
    """The same of a session that differs."""
    return replace(MEASUREMENT, session=replace(SESSION, **changes))


def test_the_same_conditions_have_no_differences() -> None:
    assert list(differences(MEASUREMENT, replace(MEASUREMENT, folder=Path("s"), build="bbbb"))) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"machine": "n", "cpu": "CPU 2"}, "other machine (CPU 1; CPU 2)"),
        ({"machine": "n", "kernel": "6.2"}, "other machine (6.1; 6.2)"),
        ({"machine": "n"}, "other machine (other caches, cores or memory)"),
        ({"machine": None}, "the machine of one side is not known"),
        ({"governor": "powersave"}, "other frequency governor (performance, powersave)"),
        ({"governor": None}, "other frequency governor (performance, none)"),
        (
            {"host": "n2"},
            "measured on another host (n1 → n2); --across-hosts compares hosts of one kind",
        ),
        ({"cores": (0, 2)}, "other processors (0,1; 0,2)"),
        ({"cores": ()}, "other processors (0,1; not known)"),
    ],
    ids=str,
)
def test_each_difference_is_named(changes: dict[str, Any], said: str) -> None:
    assert list(differences(MEASUREMENT, elsewhere(**changes))) == [said]
    assert list(differences(elsewhere(**changes), MEASUREMENT)), "in both directions"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reference": "peak"}, "other reference (taskgrain-reference, peak)"),
        ({"reference_build": "f00d"}, "another build of the reference"),
        ({"reference_build": None}, "the build of the reference of one side is not known"),
        (
            {"settings": {"threshold": 0.8, "isa": "auto"}},
            "other settings (threshold: 0.5, 0.8)",
        ),
        ({"settings": {"threshold": 0.5, "isa": "avx2"}}, "other settings (isa: auto, avx2)"),
    ],
    ids=str,
)
def test_what_else_differs_is_named(changes: dict[str, Any], said: str) -> None:
    other = replace(MEASUREMENT, **changes)
    assert list(differences(MEASUREMENT, other)) == [said]
    assert list(differences(other, MEASUREMENT)), "in both directions"


def test_another_host_of_the_same_kind_is_no_difference_where_the_user_says_so_or_nobody_knows() -> None:
    for changes in ({"host": "n2"}, {"host": None}, {"boot": "other"}):
        other = elsewhere(**changes)
        assert list(differences(MEASUREMENT, other, across_hosts=changes.get("host") is not None)) == []


def test_variables_that_differ_are_named() -> None:
    env = {"MALLOC_ARENA_MAX": "1", "LD_LIBRARY_PATH": "/new"}
    one, other = (replace(MEASUREMENT, variables=each) for each in (env, {"LD_LIBRARY_PATH": "/old"}))
    assert list(variables(one, other)) == [
        "LD_LIBRARY_PATH is /new on one side, and /old on the other",
        "MALLOC_ARENA_MAX is 1 on one side, and not set on the other",
    ]
    assert list(variables(one, one)) == list(differences(one, other)) == []


def test_a_value_that_is_not_stored_whole_is_said_not_to_be_compared() -> None:
    env = {"API_TOKEN": "(secret)", "LONG": "x" * 1000}
    one = replace(MEASUREMENT, variables=env)
    assert list(variables(one, one)) == [
        "API_TOKEN is a secret, which is not stored: its values are not compared",
        "LONG is stored up to character 1000: the rest of its values is not compared",
    ]
    other = replace(one, variables=env | {"LONG": "y"})
    assert list(variables(one, other))[1] == f"LONG is {'x' * 60}… on one side, and y on the other"


def test_long_values_are_cut_where_they_differ() -> None:
    one, other = (
        replace(MEASUREMENT, variables={"JAVA_OPTS": f"{'-Xs1 ' * 20}-XX:+Use{which}"})
        for which in ("G1GC", "ZGC")
    )
    (said,) = variables(one, other)
    assert "UseG1GC on one side" in said and said.endswith("UseZGC on the other") and len(said) < 160


def test_other_cores_are_a_difference() -> None:
    assert list(differences(MEASUREMENT, replace(MEASUREMENT, cores=1))) == ["other number of cores (2, 1)"]


def test_a_setting_that_is_not_known_is_no_difference() -> None:
    other = replace(MEASUREMENT, settings={"isa": None, "threshold": 0.8})
    assert list(settings(MEASUREMENT, other)) == ["other settings (threshold: 0.5, 0.8)"]


def at(*hours: float) -> list[Measurement]:
    return [replace(MEASUREMENT, begin=hour * HOUR, end=hour * HOUR + 60.0) for hour in hours]


@pytest.mark.parametrize(
    ("first", "second", "repeated"),
    [
        (at(0.0), at(0.9), [at(0.0)]),
        (at(0.0, 24.0, 48.0), at(72.0), [at(0.0, 24.0, 48.0)]),
        (at(0.0), at(72.0), [at(0.0, 24.0)]),
        (at(72.0), at(0.0), [at(0.0, 24.0)]),
        ([replace(MEASUREMENT, begin=None)], at(99.0), []),
    ],
)
def test_sides_that_are_near_enough_in_time(
    first: list[Measurement], second: list[Measurement], repeated: list[list[Measurement]]
) -> None:
    assert too_far_apart(first, second, repeated) == ""


def test_sessions_of_one_hour_do_not_show_how_days_differ() -> None:
    said = too_far_apart(at(0.0, 0.5), at(96.0), [at(0.0, 0.5), at(96.0)])
    assert said.startswith("the sides are 4 days apart, but the sessions of one build only 30 minutes")
    assert "1 hour" in too_far_apart(at(0.0), at(9.0), [at(0.0, 1.0)])
    assert too_far_apart(at(0.0), at(9.0), []) == ""


def test_a_dag_is_known_by_its_content_and_not_by_its_place() -> None:
    here, there = ({"dag": path, "dag_hash": 7} for path in ("/a/d.json", "/b/d.json"))
    one, other = (replace(MEASUREMENT, settings=each) for each in (here, there))
    assert list(settings(one, other)) == []
    changed = replace(MEASUREMENT, settings=here | {"dag_hash": 8})
    assert list(settings(one, changed)) == ["other settings (dag_hash: 7, 8)"]


def test_sessions_whose_processes_took_turns_scatter_by_less() -> None:
    def one(*processes: int) -> Measurement:
        samples = [Sample(64, 0, 1e-3, 1.0, 8, 2, 1.0, process) for process in processes]
        return replace(MEASUREMENT, samples=tuple(samples))

    assert usual([one(1, 2), one(3, 4, 3)]) == USUAL
    assert usual([one(1, 2), one(3, 3)]) == USUAL_OF_ONE
