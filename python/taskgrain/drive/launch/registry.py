"""The launchers that there are. A new one is a module beside this, and a name here."""

from __future__ import annotations

from taskgrain.drive.launch.flux import FLUX
from taskgrain.drive.launch.launcher import Launcher
from taskgrain.drive.launch.lsf import LSF
from taskgrain.drive.launch.mpirun import MPICH, OPENMPI
from taskgrain.drive.launch.pbs import PBS
from taskgrain.drive.launch.slurm import SLURM
from taskgrain.words.errors import UsageError

LAUNCHERS = {one.name: one for one in (OPENMPI, MPICH, SLURM, FLUX, PBS, LSF)}
MPIS = (OPENMPI.name, MPICH.name)
"""The MPIs that a driver may be built for. The launcher of that name starts its ranks, unless a user chooses
one."""


def here() -> str:
    """Names the launchers that can start ranks here."""
    return ", ".join(one.name for one in LAUNCHERS.values() if not one.missing()) or "none"


def present(name: str, option: str) -> Launcher:
    """Returns a launcher that can start ranks here. Raises `UsageError`, which calls `name` an `option`."""
    if missing := LAUNCHERS[name].missing():
        raise UsageError(
            f"{option}: {name} cannot start ranks here: no {', no '.join(missing)}; allowed: {here()}"
        )
    return LAUNCHERS[name]
