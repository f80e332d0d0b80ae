"""`mpiexec` of MPICH (Hydra), by the names that it has where Open MPI may lie beside it."""

from __future__ import annotations

from collections.abc import Sequence

from taskgrain.drive.launch import openmpi
from taskgrain.drive.launch.launcher import Launcher, Ranks


def _options(ranks: Ranks) -> Sequence[str]:
    hosts = ("-hosts", ",".join(ranks.hosts), "-ppn", f"{ranks.per_node}") if ranks.hosts else ()
    return ("-n", f"{ranks.count}", *hosts, "-bind-to", "none")


# Under its name PATH may have Open MPI's, which then has to start its ranks, or nobody learns what is wrong.
MPICH = Launcher("mpich", ("mpiexec.mpich", "mpiexec.hydra"), _options, openmpi.variables)
