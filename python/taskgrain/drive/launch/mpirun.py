"""What `mpirun` needs to start ranks here, whichever version of Open MPI it is of; others read none of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    # The machine's file of parameters is read, but not the user's.
    "OMPI_MCA_mca_base_param_files": ",".join(
        f"/etc/{folder}/openmpi-mca-params.conf" for folder in ("openmpi", "openmpi-x86_64")
    ),
}


def ranks(command: Sequence[str]) -> int | None:
    """The ranks that a command asks for; None if it is none of `mpirun`, or does not say."""
    after = command[command.index("-n") + 1 :][:1] if "-n" in command else ()
    return int(after[0]) if _is_launcher(command) and after and after[0].isdecimal() else None


def environment(command: Sequence[str]) -> Mapping[str, str]:
    """The variables to set for a command; those of its system come on top."""
    return ENVIRONMENT if _is_launcher(command) else {}


def _is_launcher(command: Sequence[str]) -> bool:
    return Path(command[0]).name.partition(".")[0] in _NAMES
