"""What a launcher comes to, as a session uses it, and the placeholders of a command."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.drive.answers import DriverError
from taskgrain.drive.launch.launch import PLACEHOLDERS, Launch, fill, names_in
from taskgrain.drive.session import Session

CORE = max(os.sched_getaffinity(0))
DRIVER = """
import json, os, sys, time
wait, variables = float(sys.argv[1]), [os.environ[name] for name in ("TASKGRAIN_CORES", "COLOUR")]
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "hello":
        answer = {"event": "ready", "protocol": 1, "system": " ".join(variables), "cores": 1}
    elif request["op"] == "run":
        time.sleep(wait)
        answer = {"event": "result", "id": request["id"], "seconds": [1000.0], "tasks": 1, "executed": 1,
                  "work": 0, "work_unit": "FLOP"}
    else:
        break
    print("@taskgrain " + json.dumps(answer), flush=True)
"""


def launch(wait: float = 0.0, **fields: object) -> Launch:
    command = (sys.executable, "-c", DRIVER, str(wait))
    return Launch(command, {"COLOUR": "green"}, (CORE,), **fields)  # type: ignore[arg-type]


def kinds(one: Launch, **times: float) -> Sequence[str]:
    """The outcome of each of two runs in one session."""
    found = []
    with Session("it", one, **times) as session:
        for _ in range(2):
            session.start()
            try:
                found.append(f"{session.run([{}], repeats=1).seconds[0]:g}")
            except DriverError as error:
                found.append(error.kind)
    return found


def test_the_driver_gets_the_cores_and_the_environment() -> None:
    with Session("it", launch()) as session:
        assert session.start().system == f"{CORE} green"


def test_only_a_simulated_system_may_need_longer_than_has_passed() -> None:
    assert kinds(launch()) == ["protocol"] * 2
    assert kinds(launch(simulated=True)) == ["1000"] * 2


def test_patience_multiplies_how_long_an_answer_is_waited_for() -> None:
    hasty = launch(1000.0, simulated=True)
    assert kinds(hasty, run_seconds=0.2) == ["timeout"] * 2
    assert kinds(launch(0.4, simulated=True, patience=1000), run_seconds=0.2) == ["1000"] * 2


@pytest.mark.parametrize("park", [True, False])
def test_a_driver_is_parked_only_where_it_may_be(park: bool) -> None:
    with Session("it", launch(park=park)) as session:
        session.start()
        assert session.parked == park


FOLDER = Path("/systems/it")


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        ("{dir}/driver", "/systems/it/driver"),
        ("-n{cores}x{nodes}", "-n3x1"),
        ("OMP_PLACES={places}", "OMP_PLACES={4},{5},{9}"),
        ("{python}", sys.executable),
        ("{dir}{dir}", "/systems/it/systems/it"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_placeholders(word: str, filled: str) -> None:
    assert fill(word, FOLDER, (4, 5, 9)) == filled


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="{"), max_size=5), st.integers() | st.lists(st.integers())
    )
)
def test_json_in_a_command_stays_as_it_is(table: dict[str, object]) -> None:
    word = json.dumps(table)
    assert names_in(word) == []
    assert fill(word, FOLDER, (0,)) == word


@given(st.lists(st.sampled_from([*(f"{{{name}}}" for name in PLACEHOLDERS), "{", "}", "{0}", "a b", "{A}"])))
def test_every_placeholder_is_filled_and_nothing_else(pieces: list[str]) -> None:
    word = "".join(pieces)
    assert set(names_in(word)) <= set(PLACEHOLDERS)
    # A folder that looks like a placeholder is no placeholder.
    filled = fill(word, Path("/{dir}"), ())
    assert filled.count("/{dir}") == word.count("{dir}")


def test_names_that_are_unknown_are_found_too() -> None:
    assert names_in("{dir}/{there} {0} {x}y") == ["dir", "there", "x"]


def test_no_cores_are_no_places() -> None:
    assert fill("{cores}:{places}", FOLDER, ()) == "0:"
