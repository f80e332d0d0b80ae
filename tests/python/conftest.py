"""What several tests stand on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import hear_interrupts
from killable_study import FAKE

from taskgrain.drive.environment import withheld

for name in withheld(os.environ):  # commands would say so, and drivers that tests start would read them
    del os.environ[name]


@pytest.fixture(autouse=True)
def _heard_interrupts() -> None:
    hear_interrupts()


@pytest.fixture
def no_own_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hides the built systems, also from commands that a test starts: only those that it names are there."""
    monkeypatch.setenv("TASKGRAIN_PREFIX", str(tmp_path / "nothing"))


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch, no_own_systems: None) -> None:
    """Only simulated systems, and a simulated reference, also in commands that a test starts."""
    monkeypatch.setenv("TASKGRAIN_REFERENCE", str(FAKE))
