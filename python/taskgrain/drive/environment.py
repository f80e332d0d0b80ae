"""The environment of a driver is the ruler's: what runtimes read of a shell would change what is measured.

A driver gets the variables of the shell that programs in general need (PATH, HOME, LD_LIBRARY_PATH,
JAVA_HOME …), without those that runtimes, allocators and launchers read. What its `system.toml` sets comes on
top of that, and last what the user passes on purpose (`--env`, or `env` of a study).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import taskgrain
from taskgrain.study.variables import stored

_FAMILIES = """
OMP_ KMP_ GOMP_ LIBOMP_ LIBOMPTARGET_ KOKKOS_ TBB_ TBBMALLOC_ STARPU_ PARSEC_ NANOS6_ NOSV_ HPX_ LEGION_
REALM_ CHARM_ QTHREAD_ QT_HWPAR ABT_ MYTH_ ITYR_ TF_ XLA_FLAGS DASK_ RAY_ SPARK_ PYSPARK_

OMPI_ PMI_ PMIX_ PRTE_ ORTE_ MPICH_ MPIR_ HYDRA_ HYDI_ HYD_ MPIEXEC_ I_MPI_ MV2_ UCX_ UCC_ FI_ PSM2_ PSM3_
GASNET_ SLURM_ SRUN_ PALS_ FLUX_ PBS_ LSB_ LSF_ SGE_
PE_HOSTFILE COBALT_ OAR_ LOADL_ OPAL_

JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS GOMAXPROCS GOGC GODEBUG GOMEMLIMIT RAYON_ TOKIO_
PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONWARNINGS PYTHONOPTIMIZE PYTHONMALLOC PYTHONDEVMODE PYTHONTRACEMALLOC
PYTHONPROFILEIMPORTTIME PYTHONASYNCIODEBUG PYTHONINSPECT PYTHONVERBOSE PYTHON_GIL PYTHON_JIT

OPENBLAS_ GOTO_NUM_THREADS MKL_ BLIS_ NUMEXPR_ HWLOC_ CUDA_LAUNCH_BLOCKING
MALLOC_ MIMALLOC_ TCMALLOC_ GLIBC_TUNABLES LD_PRELOAD LD_AUDIT LD_BIND_NOW LD_DEBUG LD_PROFILE

TASKGRAIN_RANK TASKGRAIN_SEGMENT TASKGRAIN_TRANSPORT TASKGRAIN_GRAPH_POLICY TASKGRAIN_SPARK TASKGRAIN_NODES
TASKGRAIN_STF_TRACED
"""
FAMILIES = tuple(_FAMILIES.split())
"""The beginnings of the names of variables that runtimes, and what they stand on, read."""
_KEPT = (
    *("I_MPI_ROOT", "FI_PROVIDER_PATH", "PMIX_INSTALL_PREFIX", "PRTE_PREFIX", "SLURM_CONF"),
    *("TF_CLI_", "TF_VAR_", "TF_TOKEN_"),  # Terraform's
)
"""The beginnings of those that say where something is installed, or that other programs read."""
_LIBRARIES = "LD_LIBRARY_PATH"
"""A variable that is passed on, and may decide which build of a runtime runs."""
_FEW = 2
"""Variables of a family that are named one by one."""


def withheld(shell: Mapping[str, str], families: Sequence[str] = FAMILIES) -> dict[str, str]:
    """The variables that a driver does not get."""
    kept = (*_KEPT, "PYTHONPATH") if _is_on_python_path(shell) else _KEPT
    return {
        name: value
        for name, value in shell.items()
        if name.startswith(tuple(families)) and not name.startswith(kept)
    }


def passed(shell: Mapping[str, str], families: Sequence[str] = FAMILIES) -> dict[str, str]:
    """The variables that a driver gets."""
    not_for_it = withheld(shell, families)
    return {name: value for name, value in shell.items() if name not in not_for_it}


def by_family(names: Iterable[str]) -> list[str]:
    """Names of variables for a line: of families with many, their number, and these last."""
    families: dict[str, list[str]] = {}
    for name in sorted(names):
        family = next((one for one in FAMILIES if one.endswith("_") and name.startswith(one)), name)
        families.setdefault(family, []).append(name)
    few = [name for some in families.values() if len(some) <= _FEW for name in some]
    return few + [f"{family}* ({len(some)})" for family, some in families.items() if len(some) > _FEW]


def of_session(
    shell: Mapping[str, str], families: Iterable[Sequence[str]]
) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the variables that a session stores of the shell: those withheld from drivers with these
    families, and those that pass and may change which libraries run."""
    every = {name: value for of_one in families for name, value in withheld(shell, of_one).items()}
    libraries = {_LIBRARIES: shell[_LIBRARIES]} if shell.get(_LIBRARIES) else {}
    return stored(every), stored(libraries)


def _is_on_python_path(shell: Mapping[str, str]) -> bool:
    """Tells whether PYTHONPATH is where taskgrain itself is found, as some package managers have it."""
    here = Path(taskgrain.__file__).resolve().parents[1]
    return any(Path(one).resolve() == here for one in shell.get("PYTHONPATH", "").split(os.pathsep) if one)
