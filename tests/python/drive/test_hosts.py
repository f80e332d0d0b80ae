"""Several hosts, whose agents here are processes of this one."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from taskgrain.drive.answers import OutOfTime
from taskgrain.drive.catalogue import package_folder
from taskgrain.drive.hosts import Hosts, ReferenceOnHosts
from taskgrain.drive.launch.launch import Launch
from taskgrain.machine import facts
from taskgrain.machine.topology import choose_cores
from taskgrain.measure import call
from taskgrain.study.workload import REFERENCE
from taskgrain.words.errors import UsageError

PROGRAM = str(package_folder() / "bin" / REFERENCE)
CORES = choose_cores(1)


def agent(name: str, cores: int = 1) -> Launch:
    command = (sys.executable, "-m", "taskgrain.drive.host_agent", PROGRAM, str(cores))
    return Launch(command, {}, (), park=False, other_cores=True)


@contextmanager
def soon() -> Iterator[None]:
    """A third of what an agent may take for an answer."""
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < 10.0


def test_the_kernel_alone_is_measured_on_all_hosts() -> None:
    with Hosts(("a", "b", "c"), CORES, agent) as hosts:
        assert set(hosts.facts()) == {"b", "c"}
        with ReferenceOnHosts(REFERENCE, Launch((PROGRAM,), {}, CORES), None, hosts, 3) as reference:
            reference.start()
            assert len(reference.peak({"name": "compute_bound"}, 0.001).rates) == 3


def test_a_host_under_two_names_is_refused() -> None:
    own = facts.of_host(facts.facts())
    with Hosts(("a", "b"), CORES, agent) as hosts:
        said = "hosts: a is {0}, b is {0}; a node is a host of its own".format(own["host"])
        with pytest.raises(UsageError, match=said):
            call.facts_of(hosts, own)


def test_a_host_with_fewer_cores_than_asked_for_says_so() -> None:
    has = len(os.sched_getaffinity(0))
    few = Hosts(("a", "b"), CORES, lambda name: agent(name, 9999))
    with few as hosts, pytest.raises(UsageError) as caught:
        call.facts_of(hosts, {})
    assert str(caught.value) == f"host b: has {has} core{'s' * (has > 1)}, and 9999 are asked for"


def test_one_line_tells_why_a_host_cannot_be_reached_and_a_file_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    wall = "read hello; printf '%s\\n' ----- '  ssh: no route' ----- 'many words' >&2; exit 3"
    unreachable = Hosts(("a", "b"), CORES, lambda name: Launch(("sh", "-c", wall), {}, ()))
    with unreachable as hosts, pytest.raises(UsageError) as caught:
        call.facts_of(hosts, {})
    (log,) = tmp_path.glob("taskgrain-*.log")
    assert str(caught.value).startswith("host b: ended during hello (exit code 3); ")
    assert str(caught.value).endswith(f"started it: ssh: no route (all that was said: {log})")
    assert "many words" in log.read_text("utf-8")


def test_a_host_that_does_not_answer_costs_no_more_time_than_there_is() -> None:
    silent = Launch((sys.executable, "-c", "import time; time.sleep(600)"), {}, ())
    with soon(), Hosts(("a", "b"), CORES, lambda name: silent) as hosts:
        end = time.monotonic()
        hosts.time_left = lambda: end - time.monotonic()
        with pytest.raises(OutOfTime, match="host b had not answered when the budget ended"):
            hosts.facts()


def test_a_frozen_host_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """As after Ctrl-C in a run: the session of a driver ends, and then the agents."""
    command = ("sh", "-c", f'echo $$ > {tmp_path}/pid; exec "$@"', "sh", *agent("b").command)
    with soon(), Hosts(("a", "b"), CORES, lambda name: replace(agent(name), command=command)) as hosts:
        hosts.facts()
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGSTOP)
        hosts.kill("mark", 2)
        hosts.kill("another", 2)
