"""What `mpirun` needs to start ranks here, whichever version of Open MPI it is of; others read none of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

_NAMES = ("mpirun", "mpiexec")
ENVIRONMENT = {
    # It refuses to run as root, as in containers, unless these are set.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # More ranks than the cores that it counts: for Open MPI 4, and for 5, which starts them by PRRTE.
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    # The machine's file of parameters is read, but not the user's.
    "OMPI_MCA_mca_base_param_files": ",".join(
        f"/etc/{folder}/openmpi-mca-params.conf" for folder in ("openmpi", "openmpi-x86_64")
    ),
}


def environment(command: Sequence[str]) -> Mapping[str, str]:
    """The variables to set for a command; those of its system come on top."""
    return ENVIRONMENT if Path(command[0]).name in _NAMES else {}
