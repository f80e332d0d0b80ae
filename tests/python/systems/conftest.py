"""How processes share the tests: each takes systems whole, because the tests of a system share a driver."""

from __future__ import annotations

import re

import pytest
from xdist.scheduler import LoadScopeScheduling


class BySystem(LoadScopeScheduling):
    """By what the name of a test has first in its brackets."""

    def _split_scope(self, nodeid: str) -> str:
        name = re.search(r"\[([^]-]+)", nodeid)
        return name[1] if name else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> BySystem:
    return BySystem(config, log)
