"""Fixtures for the tests of verbs: simulated systems, and the command in this process."""

from pathlib import Path

import pytest
from command_line import Command, called
from killable_study import FAKE
from system_folder import simulated


@pytest.fixture
def systems(tmp_path: Path, no_own_systems: None) -> Path:
    """One system that works, two with a fault in one pattern, one that is not installed."""
    faults = {"fast": "=", "faulty": "tree=validation", "picky": "dom=invalid", "absent": "="}
    for name, fault in faults.items():
        probe = '[probe]\nprograms = ["no-such-x"]\ninstall = "apt-get x"\n' if name == "absent" else ""
        more = f'title = "Fake {name}"\n' + "default = true\n" * (name == "fast") + probe
        simulated(tmp_path / "systems" / name, fault=fault, more=more)
    return tmp_path / "systems"


@pytest.fixture
def taskgrain(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Calls the command in this process, with a simulated reference, and returns how it ended."""
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(FAKE))
    monkeypatch.setenv("COLUMNS", "100")
    return called
