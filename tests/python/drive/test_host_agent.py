"""The agent of another host, here as a process of this one."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import psutil
import pytest
from waiting import wait_until

from taskgrain.drive.catalogue import package_folder
from taskgrain.drive.host_agent import Agent
from taskgrain.drive.process_tree import MARK
from taskgrain.study.workload import REFERENCE

KERNEL = {"name": "compute_bound"}


@pytest.fixture
def agent() -> Iterator[Agent]:
    with closing(Agent(str(package_folder() / "bin" / REFERENCE), 1)) as one:
        yield one


@pytest.fixture
def rank() -> Iterator[subprocess.Popen[bytes]]:
    """A process with the mark of a driver."""
    with subprocess.Popen([sys.executable, "-c", "input()"], env={MARK: "one"}, stdin=subprocess.PIPE) as it:
        yield it
        it.kill()


def test_it_stops_continues_and_kills_ranks(agent: Agent, rank: subprocess.Popen[bytes]) -> None:
    it = psutil.Process(rank.pid)
    wait_until(lambda: it.cmdline()[1:2] == ["-c"])
    assert agent.answer({"op": "stop", "mark": "one"}) == {"event": "done"}
    wait_until(lambda: it.status() == psutil.STATUS_STOPPED)
    agent.answer({"op": "go_on", "mark": "one", "cores": 1})
    wait_until(lambda: it.status() != psutil.STATUS_STOPPED)
    busy = agent.answer({"op": "busy", "mark": "one"})
    assert busy and 0.0 <= busy["busy"]["share"] <= 1.0
    agent.answer({"op": "kill", "mark": "one"})
    assert rank.wait() == -signal.SIGKILL


def test_processes_that_ranks_start_without_the_mark_are_ranks(agent: Agent) -> None:
    """As those of Ray, which write their title over their environment."""
    script = "env -i sleep 1000 & echo $!; wait"
    with subprocess.Popen(
        ["sh", "-c", script], env={MARK: "two", "PATH": os.defpath}, stdout=subprocess.PIPE
    ) as it:
        assert it.stdout is not None
        started = psutil.Process(int(it.stdout.readline()))
        wait_until(lambda: started.name() == "sleep")
        agent.answer({"op": "kill", "mark": "two"})
        assert it.wait() == -signal.SIGKILL
        wait_until(lambda: not started.is_running() or started.status() == psutil.STATUS_ZOMBIE)


def test_it_measures_the_kernel_alone(agent: Agent) -> None:
    found = agent.answer({"op": "peak", "id": 0, "kernel": KERNEL, "seconds": 0.001, "cores": 1})
    assert found and found["event"] == "peak" and len(found["rates"]) == 1
    facts = agent.answer({"op": "facts"})
    assert facts and facts["facts"]["host"] == os.uname().nodename and len(facts["cores"]) == 1
