"""What the runner is given."""

from __future__ import annotations

import inspect

from simulated_world import Simulated

from taskgrain.drive.session import Session
from taskgrain.measure.driver import Driver


def test_sessions_and_the_simulated_drivers_are_what_the_runner_needs() -> None:
    needed = [name for name, one in vars(Driver).items() if inspect.isfunction(one) and name[0] != "_"]
    assert {"start", "run", "peak", "park", "close", "kill", "log_tail"} == set(needed)
    for made in (Session, Simulated):
        for name in needed:
            wanted = inspect.signature(getattr(Driver, name)).parameters
            has = inspect.signature(getattr(made, name)).parameters
            takes_all = any(one.kind is one.VAR_KEYWORD for one in has.values())
            assert takes_all or set(wanted) <= set(has), f"{made.__name__}.{name}"
