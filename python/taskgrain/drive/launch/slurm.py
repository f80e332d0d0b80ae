"""`srun` in a job of Slurm. Version 22.05 was run, with the PMIx and the PMI-2 of Debian."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from taskgrain.drive.launch.launcher import Launcher, Ranks

_PMI = {"openmpi": "pmix", "mpich": "pmi2", "": "none"}


def _options(ranks: Ranks) -> Sequence[str]:
    here = os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]
    hosts = ranks.hosts or (here,)  # else srun chooses a node of the job, where nothing else is measured
    return (
        f"--nodes={len(ranks.hosts) or 1}",
        f"--ntasks={ranks.count}",
        f"--ntasks-per-node={ranks.per_node}",
        f"--cpus-per-task={ranks.cores}",
        f"--nodelist={','.join(hosts)}",
        "--overlap",  # several drivers are alive at once, and all but one are stopped
        "--cpu-bind=none",
        "--input=0",  # the others do not read theirs, which would fill
        "--kill-on-bad-exit=1",
        f"--mpi={_PMI[ranks.mpi]}",
    )


SLURM = Launcher("slurm", ("srun",), _options, allocation=("SLURM_JOB_ID",))
