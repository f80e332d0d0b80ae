"""What a result says of the machine and of the build."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from taskgrain.machine import facts as machine

ROOT = Path(__file__).resolve().parents[3]


def test_facts_are_json_and_name_the_machine() -> None:
    facts: Any = json.loads(json.dumps(machine.facts(), allow_nan=False))
    assert facts["cpu"]["physical_cores"] >= 1
    assert len(facts["cpu"]["available"]) >= facts["cpu"]["physical_cores"]
    assert facts["memory"]["bytes"] > 2**28
    assert facts["kernel"] and facts["os"] and facts["libraries"]["numpy"]


def test_the_build_is_named_by_compiler_flags_and_commit() -> None:
    project: Any = machine.facts()["taskgrain"]
    assert re.match(r"(GCC|Clang) \d+", project["compiler"])
    assert "-O3" in project["flags"]
    if (ROOT / ".git").exists():
        assert re.fullmatch("[0-9a-f]{40}", project["commit"])
        assert project["dirty"] in (False, True)
    else:
        assert project["commit"] is project["dirty"] is None


def test_what_is_odd_about_a_machine_has_codes() -> None:
    good: dict[str, Any] = {
        "cpu": {"frequency": {"governor": "performance"}, "limit": None, "available": [0, 1]},
        "hypervisor": "",
    }
    quiet = machine.State(0.01, (machine.Noise(0, 0.001, 1e-5, 3),))
    assert machine.warnings(good, quiet) == []
    bad = {"cpu": good["cpu"] | {"frequency": {"governor": "powersave"}, "limit": 1.5}, "hypervisor": "KVM"}
    noisy = machine.State(0.2, (machine.Noise(0, 0.0, 0.0, 0), machine.Noise(1, 0.05, 3e-3, 9)))
    said = {one.code: one for one in machine.warnings(bad, noisy)}
    codes = ["machine_busy", "core_interrupted", "clock_governor", "cpu_limit", "virtual_machine"]
    assert list(said) == codes
    assert "Core 1 loses 5.0 % of its time to interruptions; the largest takes 3.0 ms." in (
        said["core_interrupted"].text
    )
