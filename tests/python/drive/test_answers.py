"""A driver's answers: what is taken from them, and that nothing impossible becomes a number."""

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.drive import answers
from taskgrain.drive.answers import DriverError, Peak, binding_warnings, parse, printable
from taskgrain.drive.launch.launch import Launch

READY = {
    "event": "ready",
    "protocol": 1,
    "system": "it",
    "version": "1.2",
    "nodes": 1,
    "cores": 2,
    "binding": [[0], [1]],
}
RESULT = {
    "event": "result",
    "id": 7,
    "seconds": [0.5, 0.25],
    "prepare_seconds": [0.1],
    "tasks": 8,
    "executed": 8,
    "dependencies": 6,
    "work": 100,
    "work_unit": "FLOP",
    "binding": [[0], [1]],
    "peak_rss_bytes": 4096,
}


LAUNCH = Launch(("/bin/driver",), {}, (0, 1))
HAS = answers.ready(READY, LAUNCH)


def result(elapsed: float = 1.0, **changed: Any) -> answers.RunResult:
    return answers.result(RESULT | changed, 7, 2, LAUNCH, HAS, elapsed)


def without(answer: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in fields}


# -- lines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"event": 1}',
        b'{"event": "x", "y": NaN}',
        b'{"event": "x", "y": -Infinity}',
        b"\xff",
        b"1",
        b"[" * 100_000,
    ],
)
def test_lines_that_are_no_answer(line: bytes) -> None:
    with pytest.raises(DriverError, match=r"an answer is not") as caught:
        parse(line)
    assert caught.value.kind == "protocol"
    assert len(caught.value.message) < 300


@given(
    st.dictionaries(st.text(), st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text())
)
def test_lines_that_are_one(fields: dict[str, Any]) -> None:
    answer = fields | {"event": "result"}
    assert parse(json.dumps(answer).encode()) == answer


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode()))
def test_any_bytes_are_an_answer_or_an_error_of_one_line(line: bytes) -> None:
    try:
        assert isinstance(parse(line)["event"], str)
    except DriverError as error:
        assert error.kind == "protocol"
        assert error.message.isprintable()


@given(st.text())
def test_a_message_is_fit_for_any_terminal(text: str) -> None:
    error = DriverError("system", text)
    assert error.message == str(error) == printable(text)
    assert error.message.isprintable()
    assert len(error.message) == len(text)
    assert not error.at_start


# -- hello ------------------------------------------------------------------------------------------------


def test_ready() -> None:
    found = answers.ready(READY, LAUNCH)
    assert (found.system, found.version, found.nodes, found.cores) == ("it", "1.2", 1, 2)
    assert found.binding == ((0,), (1,))
    assert found.warnings == ()
    assert found.raw == READY
    least = answers.ready(without(READY, "version", "nodes", "binding"), LAUNCH)
    assert (least.version, least.nodes, least.binding) == ("", 1, ())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"protocol": 2}, "the driver speaks protocol 2; this harness speaks 1"),
        ({"protocol": None}, "the driver speaks protocol None"),
        ({"cores": 0}, "the answer's cores is 0; it must be an integer of at least 1"),
        ({"cores": 2**63}, "the answer's cores is 9223372036854775808"),
        ({"binding": 3}, "the answer's binding is 3; it must be a list of lists of processors"),
        ({"binding": [0, 1]}, "the answer's binding is [0, 1]"),
        ({"binding": [[-1]]}, "the answer's binding is [[-1]]"),
        ({"binding": [list(range(1000)), 0]}, "…; it must be a list of lists"),
    ],
)
def test_a_ready_that_makes_no_sense(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(DriverError) as caught:
        answers.ready(READY | changed, LAUNCH)
    assert caught.value.kind == "protocol"
    assert words in caught.value.message
    assert len(caught.value.message) < 250


@pytest.mark.parametrize(("joined", "started"), [(1, 2), (2, 1), (0, 2)])
def test_ranks_that_did_not_join_are_told(joined: int, started: int) -> None:
    launch = replace(LAUNCH, ranks=started)
    with pytest.raises(DriverError, match=f"asked for {started} ranks? and has {joined} rank") as caught:
        answers.ready(READY | {"ranks": joined}, launch)
    assert caught.value.kind == "system"
    assert answers.ready(READY | {"ranks": started}, launch).cores == 2
    assert answers.ready(READY | {"ranks": joined}, LAUNCH).cores == 2, "nobody knows how many were started"


# -- runs -------------------------------------------------------------------------------------------------


def test_a_result() -> None:
    found = result()
    assert found == answers.RunResult(
        seconds=(0.5, 0.25),
        prepare_seconds=(0.1,),
        tasks=8,
        executed=8,
        dependencies=6,
        work=100.0,
        work_unit="FLOP",
        binding=((0,), (1,)),
        peak_rss_bytes=4096,
    )


def test_with_a_fault_tasks_may_be_executed_again_and_none_may_be_missing() -> None:
    once = RESULT | {"seconds": [0.5], "strikes": 1}
    found = answers.disturbed(once | {"executed": 11}, 7, LAUNCH, HAS, 1.0, 1)
    assert (found.strikes, found.result.tasks, found.result.executed) == (1, 8, 11)
    with pytest.raises(DriverError, match="7 tasks were executed; the graphs hold 8"):
        answers.disturbed(once | {"executed": 7}, 7, LAUNCH, HAS, 1.0, 1)
    with pytest.raises(DriverError, match="strikes"):
        answers.disturbed(without(once, "strikes"), 7, LAUNCH, HAS, 1.0, 1)
    with pytest.raises(DriverError, match="says that the fault struck 1 times; its books say 0"):
        answers.disturbed(once | {"executed": 11}, 7, LAUNCH, HAS, 1.0, 0)
    with pytest.raises(DriverError, match="11 tasks were executed; the graphs hold 8"):
        result(executed=11)


def test_what_a_result_may_leave_out() -> None:
    optional = ("prepare_seconds", "dependencies", "binding", "peak_rss_bytes")
    found = answers.result(without(RESULT, *optional), 7, 2, LAUNCH, HAS, 1.0)
    assert (found.prepare_seconds, found.dependencies, found.peak_rss_bytes) == ((), 0, 0)
    for name in RESULT.keys() - {*optional, "event"}:
        with pytest.raises(DriverError):
            answers.result(without(RESULT, name), 7, 2, LAUNCH, HAS, 1.0)


@pytest.mark.parametrize(
    ("changed", "kind", "words"),
    [
        ({"id": 6}, "protocol", "an answer to run 6 came for run 7"),
        ({"executed": 7}, "validation", "7 tasks were executed; the graphs hold 8"),
        ({"seconds": [0.5]}, "protocol", "the answer's seconds is [0.5]; it must be a list of 2 numbers"),
        ({"tasks": True, "executed": True}, "protocol", "the answer's tasks is True"),
        ({"seconds": [0.5, -1.0]}, "protocol", "it must be a finite number above 0"),
        ({"seconds": [0.5, 10**400]}, "protocol", "it must be a finite number above 0"),
        ({"seconds": [0.5, 1e-10]}, "protocol", "a repeat took 1e-10 seconds, less than any clock can tell"),
        ({"seconds": [0.5, 0.6]}, "protocol", "seconds add up to 1.1, but it came after 1"),
        ({"waited": [0.1]}, "protocol", "waited is [0.1]; it must be a list of 2 numbers"),
        ({"waited": [0.1, -0.1]}, "protocol", "it must be a finite number of at least 0"),
        ({"waited": [0.1, 0.6]}, "protocol", "waited is 0.6; it must be at most cores × seconds, here 0.5"),
        ({"waited": "long"}, "protocol", "waited is 'long'; it must be a list of 2 numbers"),
        ({"work": 1e308, "seconds": [1e-9, 1e-9]}, "protocol", "it must be what can be done in the time"),
    ],
)
def test_a_result_that_makes_no_sense(changed: dict[str, Any], kind: str, words: str) -> None:
    with pytest.raises(DriverError) as caught:
        result(**changed)
    assert caught.value.kind == kind
    assert words in caught.value.message


def test_a_simulated_system_may_say_any_time() -> None:
    assert result(math.inf, seconds=[1e6, 1e6]).seconds == (1e6, 1e6)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(RESULT)), JSON, max_size=3))
def test_whatever_is_in_a_result_its_numbers_are_sound_or_it_is_refused(changed: dict[str, Any]) -> None:
    try:
        found = result(**changed)
    except DriverError as error:
        assert error.kind in ("protocol", "validation") or (error.kind == "system" and "binding" in changed)
        assert error.message.isprintable()
        assert any(name in error.message for name in changed) or re.search(
            "came for run|the graphs hold|any clock can tell|in this run", error.message
        )
        return
    assert found.tasks == found.executed >= 0
    assert len(found.seconds) == 2
    assert min(found.seconds) > 0 and sum(found.seconds) < 1.1
    assert math.isfinite(found.work / min(found.seconds))
    assert all(math.isfinite(one) and one >= 0 for one in found.prepare_seconds)
    assert found.work_unit.isprintable()


@given(st.sampled_from(sorted(READY)), JSON)
def test_whatever_is_in_a_ready_it_is_sound_or_the_field_is_named(name: str, value: Any) -> None:
    try:
        found = answers.ready(READY | {name: value}, replace(LAUNCH, other_cores=True))
    except DriverError as error:
        assert error.message.isprintable()
        if error.kind == "system":
            assert name in ("cores", "nodes", "binding") and "it was asked for" in error.message
        else:
            assert error.kind == "protocol" and name in error.message
        return
    assert min(found.nodes, found.cores) >= 1 and type(found.nodes) is type(found.cores) is int
    assert found.system.isprintable() and isinstance(found.version, str)
    assert all(type(one) is int and one >= 0 for worker in found.binding for one in worker)


# -- the reference ----------------------------------------------------------------------------------------


def test_peak() -> None:
    assert answers.peak({"id": 1, "rates": [1e9, 2], "work_unit": "FLOP"}, 1, 2) == Peak((1e9, 2.0), "FLOP")


@pytest.mark.parametrize(
    "changed",
    [
        {"id": 9},
        {"rates": [1.0]},
        {"rates": [1.0, 0.0]},
        {"work_unit": 1},
        {"work_unit": None},
    ],
)
def test_a_reference_that_makes_no_sense(changed: dict[str, Any]) -> None:
    good = {"id": 1, "rates": [1, 2], "work_unit": "B"}
    with pytest.raises(DriverError) as caught:
        answers.peak(good | changed, 1, 2)
    assert caught.value.kind == "protocol"


# -- bindings ---------------------------------------------------------------------------------------------


def test_workers_outside_and_on_one_processor() -> None:
    (outside,) = binding_warnings([[0], [5, 1]], [0, 1])
    assert (outside.code, outside.values) == (
        "binding_outside",
        {"worker": 1, "processors": [5], "asked": [0, 1]},
    )
    (shared,) = binding_warnings([[0], [1], [1]], [0, 1])
    assert (shared.code, shared.values) == ("binding_shared", {"workers": [1, 2], "processor": 1})


def test_workers_that_move_among_cores_are_no_more_than_cores() -> None:
    assert binding_warnings([[0, 1], [0, 1]], [0, 1]) == ()
    for worker in ([0, 1], [0], [1]):
        assert binding_warnings([[0, 1], [0, 1], worker], [0, 1])[0].code == "binding_shared"
    assert binding_warnings([[0, 5], [0, 5]], [0, 1])[0].code == "binding_outside"


@given(st.permutations(range(6)), st.lists(st.integers(0, 6), min_size=2, max_size=2).map(sorted))
def test_workers_apart_are_not_warned_of(order: list[int], cuts: list[int]) -> None:
    workers = [order[: cuts[0]], order[cuts[0] : cuts[1]], order[cuts[1] :]]
    assert binding_warnings(workers, range(6)) == ()
    assert binding_warnings([*workers, [order[0]]], range(6))[0].code == "binding_shared"
    assert binding_warnings([*workers, [6]], range(6))[0].code == "binding_outside"


# -- errors -----------------------------------------------------------------------------------------------


def test_errors_are_those_of_their_request() -> None:
    event = {"event": "error", "id": 3, "kind": "system", "message": "it\n  broke"}
    found = answers.error(event, 3)
    assert (found.kind, found.message) == ("system", "it broke")
    assert answers.error(without(event, "id"), 3).message == "it broke"
    assert answers.error(event | {"id": None}, 3).message == "it broke"
    assert answers.error(event, None).message == "it broke"
    other = answers.error(event, 4)
    assert (other.kind, other.message) == ("protocol", "an error of run 3 came for run 4: it\ufffd  broke")


def test_a_violation_is_put_into_words() -> None:
    event = {"kind": "validation", "message": "wrong", "violation": {"kind": "early", "step": 12}}
    assert answers.error(event, 1).message == "wrong (kind 'early', step 12)"
    told = "early: graph 0, step 12"
    assert answers.error(event | {"message": told}, 1).message == told, "the core's sentence says all of it"
    for none in (None, {}, [], "text"):
        assert answers.error(event | {"violation": none}, 1).message == "wrong"


@pytest.mark.parametrize("changed", [{"kind": "crash"}, {"kind": None}, {"kind": []}, {"message": None}])
def test_an_incomplete_error_is_one_of_the_protocol(changed: dict[str, Any]) -> None:
    found = answers.error({"event": "error", "kind": "system", "message": "x"} | changed, 1)
    assert found.kind == "protocol"
    assert found.message.startswith("an error event is incomplete: {'event': 'error'")
