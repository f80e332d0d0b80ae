"""Several hosts, whose agents here are processes of this one."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from taskgrain.drive.answers import DriverError
from taskgrain.drive.catalogue import package_folder
from taskgrain.drive.hosts import Hosts, ReferenceOnHosts
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.system import REFERENCE
from taskgrain.machine import facts
from taskgrain.machine.topology import choose_cores
from taskgrain.measure import call
from taskgrain.results.lines import Host
from taskgrain.words.errors import UsageError

PROGRAM = str(package_folder() / "bin" / REFERENCE)
CORES = choose_cores(1)


def agent(name: str) -> Launch:
    command = (sys.executable, "-m", "taskgrain.drive.host_agent", PROGRAM, "1")
    return Launch(command, {}, (), park=False, other_cores=True)


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


def test_what_differs_between_hosts_is_said_in_words() -> None:
    here = Host(
        host="a", machine="1", cpu="X", cores=2, memory_bytes=2**31, kernel="6.1", governor="performance"
    )
    others = (
        replace(here, host="b", machine="2", cores=4, memory_bytes=2**32),
        replace(here, host="c", machine="2"),
        replace(here, host="d"),
    )
    assert list(call.differences((here, *others))) == [
        "host b: cores 4 (here 2), memory 4 GiB (here 2 GiB)",
        "host c: its sockets or caches are not as here",
    ]
    assert list(call.differences(())) == []


def test_a_host_that_cannot_be_reached_is_named() -> None:
    nobody = Launch((sys.executable, "-c", "raise SystemExit('no route')"), {}, (), other_cores=True)
    with Hosts(("a", "b"), CORES, lambda name: nobody) as hosts:
        with pytest.raises(DriverError, match="host b: ended during hello") as caught:
            hosts.facts()
        assert "no route" in caught.value.log_tail
