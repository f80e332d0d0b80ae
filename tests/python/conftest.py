"""What several tests stand on."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def no_own_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hides the built systems, also from commands that a test starts: only those that it names are there."""
    monkeypatch.setenv("TASKGRAIN_PREFIX", str(tmp_path / "nothing"))
