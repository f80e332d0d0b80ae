"""`mpirun` of Open MPI 4 and 5, and `mpiexec` of MPICH (Hydra) by the names that it has beside that."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from taskgrain.drive.launch.launcher import Launcher, Ranks

ENVIRONMENT = {
    # It refuses to run as root, as in containers, unless these are set.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # More ranks than the cores that it counts: for Open MPI 4, and for 5, which starts them by PRRTE.
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
_WHOLE_NAMES = {"OMPI_MCA_orte_keep_fqdn_hostnames": "1", "PRTE_MCA_prte_keep_fqdn_hostnames": "1"}
"""The variables without which it asks for `node1.cluster.local` as `node1`, which may not be known."""
_PARAMETERS = "openmpi-mca-params.conf"


def variables(program: str, hosts: Sequence[str] = ()) -> Mapping[str, str]:
    """Returns the variables that it needs, whichever version it is of; other launchers read none of it."""
    # The file of parameters of the machine, or of the installation, is read, but not the user's.
    own = Path(os.path.realpath(shutil.which(program) or program)).parents[1] / "etc"
    files = [f"{folder}/{_PARAMETERS}" for folder in ("/etc/openmpi", "/etc/openmpi-x86_64", own)]
    names = _WHOLE_NAMES if any("." in one for one in hosts) else {}
    return ENVIRONMENT | names | {"OMPI_MCA_mca_base_param_files": ",".join(files)}


def _of_openmpi(ranks: Ranks) -> Sequence[str]:
    hosts = ",".join(f"{one}:{ranks.per_node}" for one in ranks.hosts)
    passed = (word for name in ranks.variables for word in ("-x", name))  # others stay on this host
    there = ("--host", hosts, *passed) if hosts else ()
    return ("-n", f"{ranks.count}", *there, "--bind-to", "none")


def _of_mpich(ranks: Ranks) -> Sequence[str]:
    hosts = ("-hosts", ",".join(ranks.hosts), "-ppn", f"{ranks.per_node}") if ranks.hosts else ()
    return ("-n", f"{ranks.count}", *hosts, "-bind-to", "none")


OPENMPI = Launcher("openmpi", ("mpirun",), _of_openmpi, variables)
# PATH may have an Open MPI by this name, which as root refuses to start without its variables. With them its
# ranks start, do not find each other, and the error says so.
MPICH = Launcher("mpich", ("mpiexec.mpich", "mpiexec.hydra"), _of_mpich, variables)
