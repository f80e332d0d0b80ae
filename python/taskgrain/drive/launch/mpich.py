"""`mpiexec` of MPICH (Hydra), by the names that it has where Open MPI may lie beside it."""

from __future__ import annotations

from collections.abc import Sequence

from taskgrain.drive.launch import openmpi
from taskgrain.drive.launch.launcher import Launcher, Ranks


def _options(ranks: Ranks) -> Sequence[str]:
    hosts = ("-hosts", ",".join(ranks.hosts), "-ppn", f"{ranks.per_node}") if ranks.hosts else ()
    return ("-n", f"{ranks.count}", *hosts, "-bind-to", "none")


# PATH may have an Open MPI by this name, which as root refuses to start without its variables. With them its
# ranks start, do not find each other, and the error says so.
MPICH = Launcher("mpich", ("mpiexec.mpich", "mpiexec.hydra"), _options, openmpi.variables)
