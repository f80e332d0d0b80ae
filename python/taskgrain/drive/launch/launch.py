"""What a launcher comes to: the command that starts one driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from taskgrain.drive.environment import FAMILIES


@dataclass(frozen=True)
class Launch:
    """A command that starts one driver."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    """Set on top of what is passed of the harness's environment."""
    cores: tuple[int, ...]
    """The processors that the driver shall use, worker by worker."""
    park: bool = True
    """Whether the idle driver may be stopped (SIGSTOP)."""
    simulated: bool = False
    """Whether its seconds are those of a simulation and may be more than have passed."""
    patience: int = 1
    """How many times longer than for others an answer is waited for."""
    withholds: tuple[str, ...] = FAMILIES
    """The families of variables that it does not get from the harness's environment."""
