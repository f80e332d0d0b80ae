"""Tests of what a result says of the machine and of the build."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from taskgrain.machine import facts as machine

ROOT = Path(__file__).resolve().parents[3]


def test_facts_are_json_and_name_the_machine() -> None:
    facts: Any = json.loads(json.dumps(machine.facts(), allow_nan=False))
    assert facts["cpu"]["physical_cores"] >= 1
    assert len(facts["cpu"]["available"]) >= facts["cpu"]["physical_cores"]
    assert facts["memory"]["bytes"] > 2**28
    assert facts["kernel"] and facts["os"] and facts["libraries"]["numpy"]


def test_a_machine_keeps_its_fingerprint_until_it_is_another() -> None:
    facts: Any = json.loads(json.dumps(machine.facts()))
    found = machine.fingerprint(facts)
    assert machine.fingerprint(machine.facts()) == found and len(found) == 16
    assert machine.fingerprint(facts | {"time": 0.0, "load": [9.0], "host": "other"}) == found
    others = [facts | {"kernel": "other"}, facts | {"cpu": facts["cpu"] | {"model": "other"}}]
    others.append(facts | {"memory": {"bytes": 2 * facts["memory"]["bytes"]}})
    assert len({found, *map(machine.fingerprint, others)}) == 4


def test_the_build_is_named_by_compiler_flags_and_commit() -> None:
    project: Any = machine.facts()["taskgrain"]
    assert re.match(r"(GCC|Clang) \d+", project["compiler"])
    assert "-O3" in project["flags"]
    if (ROOT / ".git").exists():
        assert re.fullmatch("[0-9a-f]{40}", project["commit"])
        assert project["dirty"] in (False, True)
    else:
        assert project["commit"] is project["dirty"] is None


def test_what_is_odd_about_a_machine_has_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    good: dict[str, Any] = {
        "cpu": {"frequency": {"governor": "performance"}, "default": [0, 1]},
        "hypervisor": "",
    }
    quiet = machine.State(0.01, (machine.Noise(0, 0.001, 1e-5, 3),))
    assert machine.warnings(good, quiet) == []
    monkeypatch.setattr("taskgrain.machine.topology.cpu_limit", lambda: 1.5)
    bad = {"cpu": good["cpu"] | {"frequency": {"governor": "powersave"}}, "hypervisor": "KVM"}
    noisy = machine.State(0.2, (machine.Noise(0, 0.0, 0.0, 0), machine.Noise(1, 0.05, 3e-3, 9)))
    said = {one.code: one for one in machine.warnings(bad, noisy)}
    codes = ["machine_busy", "core_interrupted", "clock_governor", "cpu_limit", "virtual_machine"]
    assert list(said) == codes
    assert "Core 1 loses 5.0 % of its time to interruptions; the largest takes 3.0 ms." in (
        said["core_interrupted"].text
    )


def test_the_noise_of_a_core_and_the_affinity_afterwards() -> None:
    before = os.sched_getaffinity(0)
    core = max(before)
    found = machine.noise(core, 0.05)
    assert os.sched_getaffinity(0) == before
    assert found.core == core
    assert 0.0 <= found.lost <= 1.0
    assert (found.gaps == 0) == (found.largest_gap == 0.0)
    assert found.gaps == 0 or found.largest_gap > machine.GAP_SECONDS
    with pytest.raises(OSError, match="Invalid argument"):
        machine.noise(99_999, 0.05)
    assert os.sched_getaffinity(0) == before


def test_a_core_that_is_taken_away_shows_as_a_gap() -> None:
    program = (
        "import json, os, signal, sys, threading; from dataclasses import asdict\n"
        "from taskgrain.machine.facts import noise\n"
        "threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGSTOP)).start()\n"
        "print(json.dumps(asdict(noise(int(sys.argv[1]), 1.0))))"
    )
    core = str(max(os.sched_getaffinity(0)))
    found = {"largest_gap": 0.0, "lost": 0.0}
    while found["largest_gap"] < 0.25:  # on a busy machine it may stop before it looks, or after that
        with subprocess.Popen([sys.executable, "-c", program, core], stdout=subprocess.PIPE) as one:
            assert one.stdout is not None
            os.waitid(os.P_PID, one.pid, os.WSTOPPED)
            time.sleep(0.3)
            os.kill(one.pid, signal.SIGCONT)
            found = json.loads(one.stdout.read())
    assert found["lost"] >= 0.1


def test_the_state_is_that_of_each_core() -> None:
    cores = sorted(os.sched_getaffinity(0))[:1]
    found = machine.state(cores, window=0.05, spin=0.05)
    assert [one.core for one in found.noise] == cores
    assert 0.0 <= found.busy_share <= 1.0
    told = json.loads(json.dumps(asdict(found)))
    assert told["noise"][0].keys() == {"core", "lost", "largest_gap", "gaps"}


def test_versions_of_the_packages_that_systems_stand_on() -> None:
    libraries: Any = machine.facts(["pytest", "no-such-package"])["libraries"]
    assert libraries["pytest"] == pytest.__version__
    assert "no-such-package" not in libraries


def test_hosts_of_one_kind_are_as_one_of_them_whatever_their_order() -> None:
    assert machine.together(["a", "a"]) == "a"
    assert machine.together(["b", "a", "a"]) == machine.together(["a", "b"]) not in ("a", "b")
