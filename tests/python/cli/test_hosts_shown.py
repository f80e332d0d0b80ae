"""The hosts of a measurement in words, and where they are shown."""

from dataclasses import replace
from pathlib import Path

import compared_folders
import history_store
from command_line import Command

from taskgrain.answers import data
from taskgrain.report import page
from taskgrain.results import hosts
from taskgrain.results.lines import Host

TWO = [
    {"host": "h1", "machine": "1", "cpu": "X", "cores": 2},
    {"host": "h2", "machine": "2", "cpu": "X", "cores": 4},
]


def test_what_differs_between_hosts_is_said_in_words() -> None:
    here = Host(
        host="a", machine="1", cpu="X", cores=2, memory_bytes=2**31, kernel="6.1", governor="performance"
    )
    others = (
        replace(here, host="b", machine="2", cores=4, memory_bytes=2**32),
        replace(here, host="c", machine="2"),
        replace(here, host="d"),
    )
    assert list(hosts.differences((here, *others))) == [
        "host b: cores 4 (a: 2), memory 4 GiB (a: 2 GiB)",
        "host c: its sockets or caches are not as those of a",
    ]
    assert list(hosts.differences(())) == []


def test_many_hosts_are_a_number_and_the_first() -> None:
    nodes = [Host(host=f"node{k}.cluster.local") for k in range(1, 65)]
    assert hosts.named(nodes[:2]) == "node1.cluster.local, node2.cluster.local"
    assert hosts.named(nodes[:3]) == "3 hosts, node1.cluster.local and 2 more"
    assert hosts.where(nodes) == "on 64 hosts, node1.cluster.local and 63 more"
    assert (hosts.named([Host(host="n" * 50)]), hosts.where([])) == ("n" * 50, "")


def test_reports_comparisons_and_histories_name_all_hosts(taskgrain: Command, tmp_path: Path) -> None:
    where = "on h1, h2 (host h2: cores 4 (h1: 2))"
    first = compared_folders.measured(tmp_path / "a", {"mpi": 1e-6}, hosts=TWO)
    second = compared_folders.measured(tmp_path / "b", {"mpi": 1e-6}, hosts=TWO)
    other = compared_folders.measured(tmp_path / "c", {"mpi": 1e-6})
    assert page.machine_in_a_line(data.read(first)) == f"Example CPU 9000, 2 cores used, {where}"
    assert f"Measured {where}.\n" in taskgrain("report", first, "--show").out
    assert "Measured" not in taskgrain("report", other, "--show").out
    both, one = taskgrain("compare", first, second).out, taskgrain("compare", first, other).out
    assert f"{first} and {second}: measured {where}.\n" in both
    assert f"{first}: measured {where}.\n" in one
    path = history_store.grown(tmp_path / "h.jsonl", [1e-6], hosts=TWO)
    assert f"Measured {where}.\n" in taskgrain("history", path).out
