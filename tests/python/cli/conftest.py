"""What the tests of verbs stand on: simulated systems, and the command in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Command, called
from killable_study import FAKE


@pytest.fixture
def systems(tmp_path: Path, no_own_systems: None) -> Path:
    """One system that works, two with a fault in one pattern, one that is not installed."""
    faults = {"fast": "=", "faulty": "tree=validation", "picky": "dom=invalid", "absent": "="}
    for name, fault in faults.items():
        folder = tmp_path / "systems" / name
        folder.mkdir(parents=True)
        words = ["{python}", str(FAKE), "1e-6", "0.02", fault]
        probe = '[probe]\nprograms = ["no-such-x"]\ninstall = "apt-get x"\n' if name == "absent" else ""
        text = f'title = "Fake {name}"\nsimulated = true\n{probe}[launch]\ncommand = {words}\n'
        (folder / "system.toml").write_text(("default = true\n" if name == "fast" else "") + text)
    return tmp_path / "systems"


@pytest.fixture
def taskgrain(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Calls the command in this process, with a simulated reference, and returns how it ended."""
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(FAKE))
    monkeypatch.setenv("COLUMNS", "100")
    return called
