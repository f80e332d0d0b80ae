"""Tells how processes share the tests of systems, and in which ring those of slow systems run first."""

import re

import pytest
from xdist.scheduler import LoadScopeScheduling

from taskgrain.drive.system import System

RINGS = ("slow", "submission", "deep")
FEW = (
    *("test_hello", "test_pattern[stencil_1d]", "test_pattern[random]", "test_pattern[dag]"),
    *("test_kernel[load_imbalance]", "test_invalid_request[steps]"),
    *("test_quit_ends_it_without_an_error_whatever_happened", "test_nothing_stays_when_its_parent_is_killed"),
)
"""What a system that takes seconds to start shows before a change is handed in: it works, says what is wrong,
and ends. Its other tests, and all those of its variants, are `deep`."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks the tests of systems that need patience with the ring that runs them first."""
    if not isinstance(item, pytest.Function) or not item.get_closest_marker("waits"):
        return
    if not any(map(item.get_closest_marker, RINGS)):
        name = item.callspec.params["system"]
        test = item.name.replace(f"[{name}-", "[").removesuffix(f"[{name}]")
        item.add_marker(ring(item.module.SYSTEMS[name], test))


def ring(system: System, test: str) -> str:
    """The mark of a test of a system, named without the system."""
    if "." in system.name or test not in FEW:
        return "deep"
    return "slow" if system.install == "make setup" else "submission"


class BySystem(LoadScopeScheduling):
    """Schedules by the first word in the brackets of a test's name: the tests of a system share a driver."""

    def _split_scope(self, nodeid: str) -> str:
        name = re.search(r"\[([^]-]+)", nodeid)
        return name[1] if name else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> BySystem:
    return BySystem(config, log)
