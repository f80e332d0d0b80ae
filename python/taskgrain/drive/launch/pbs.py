"""`mpiexec` of PALS in a job of PBS, by its manual; it was not run."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from taskgrain.drive.launch.launcher import Launcher, Ranks


def _options(ranks: Ranks) -> Sequence[str]:
    hosts = ",".join(ranks.hosts or (socket.gethostname(),))
    words = ("-n", f"{ranks.count}", "--ppn", f"{ranks.per_node}", "--depth", f"{ranks.cores}")
    return (*words, "--hosts", hosts, "--cpu-bind", "none")


PBS = Launcher("pbs", ("mpiexec",), _options, allocation=("PBS_JOBID", "PBS_NODEFILE"))
