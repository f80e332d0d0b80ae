"""What `mpirun` needs to start ranks here, whichever version of Open MPI it is of; others read none of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

_NAMES = ("mpirun", "mpiexec")
"""Also with what tells several of them apart, as in `mpirun.openmpi`."""
ENVIRONMENT = {
    # It refuses to run as root, as in containers, unless these are set.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # More ranks than the cores that it counts: for Open MPI 4, and for 5, which starts them by PRRTE.
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
_PARAMETERS = "openmpi-mca-params.conf"


def ranks(command: Sequence[str]) -> int | None:
    """The ranks that a command asks for; None if it is none of `mpirun`, or does not say."""
    number = next((after for word, after in pairwise(command) if word in ("-n", "-np")), "")
    return int(number) if _is_launcher(command) and number.isdecimal() else None


def environment(command: Sequence[str]) -> Mapping[str, str]:
    """The variables to set for a command; those of its system come on top."""
    if not _is_launcher(command):
        return {}
    # The file of parameters of the machine, or of the installation, is read, but not the user's.
    own = Path(os.path.realpath(shutil.which(command[0]) or command[0])).parents[1] / "etc"
    files = [f"{folder}/{_PARAMETERS}" for folder in ("/etc/openmpi", "/etc/openmpi-x86_64", own)]
    return ENVIRONMENT | {"OMPI_MCA_mca_base_param_files": ",".join(files)}


def _is_launcher(command: Sequence[str]) -> bool:
    return Path(command[0]).name.partition(".")[0] in _NAMES
