"""`flux run` in an instance of Flux, by its manual; it was not run."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from taskgrain.drive.launch.launcher import Launcher, Ranks


def _options(ranks: Ranks) -> Sequence[str]:
    return (
        "run",
        f"--nodes={len(ranks.hosts) or 1}",
        f"--ntasks={ranks.count}",
        f"--cores-per-task={ranks.cores}",
        f"--requires=host:{','.join(ranks.hosts or (socket.gethostname(),))}",
        "--setopt=cpu-affinity=off",
        "--input=0",
        *(("--setopt=pmi=pmix",) if ranks.mpi == "openmpi" else ()),  # MPICH uses Flux's own
    )


FLUX = Launcher("flux", ("flux",), _options, allocation=("FLUX_URI",))
