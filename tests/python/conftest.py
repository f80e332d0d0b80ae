"""Fixtures that several tests use."""

import os
from functools import cache
from pathlib import Path

import pytest
from command_line import hear_interrupts
from hypothesis import settings
from killable_study import FAKE

from taskgrain.drive import catalogue
from taskgrain.drive.environment import withheld
from taskgrain.drive.system import System
from taskgrain.drive.system_file import DEFAULT_GROUP

for name in withheld(os.environ):  # commands would say so, and drivers that tests start would read them
    del os.environ[name]


# Fewer examples where a ring asks for fewer rounds, as of the C++ tests; the same ones each time, unless a
# ring looks for others. No machine is too slow for one.
ROUNDS = float(os.environ.get("TASKGRAIN_TEST_ROUNDS", "1"))
same = settings(max_examples=max(5, round(100 * ROUNDS)), deadline=None, derandomize=True)
settings.register_profile("same", same)
settings.register_profile("other", same, derandomize=False)
settings.load_profile("same")


@cache
def _systems() -> dict[str, System]:
    return catalogue.discover([])


def pytest_itemcollected(item: pytest.Item) -> None:
    """Skips a test of which a system is not set up, and marks one of which a system is of no default group.

    A test uses the systems that its marks `uses` name; one of tests/python/systems, too, the one that its
    parameter `system` names.
    """
    used = [name for mark in item.iter_markers("uses") for name in mark.args]
    if item.path.parent.name == "systems" and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
        used += [name for key, name in item.callspec.params.items() if key == "system" and name in _systems()]
    for name in used:
        system = _systems()[name]
        if system.group not in ("", DEFAULT_GROUP):
            item.add_marker("of_a_group")
        if not (probe := system.probe()).available:
            item.add_marker(pytest.mark.skip(reason=f"{name} is not set up: {probe.install}"))


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
