"""A system as its `system.toml` describes it: its properties, its needs, its launch."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from taskgrain.drive.environment import FAMILIES
from taskgrain.drive.launch.launch import Launch, fill, names_in
from taskgrain.drive.launch.launcher import Launcher, Node, Ranks
from taskgrain.drive.launch.registry import LAUNCHERS, MPIS
from taskgrain.drive.process_tree import MARK
from taskgrain.machine.restrictions import network_fault
from taskgrain.study.variables import stored
from taskgrain.study.workload import REFERENCE

_SOCKETS = ("TCP", "gRPC")
_EVERYWHERE = ("LD_LIBRARY_PATH",)
"""Variables of the shell that ranks on other hosts get."""


@dataclass(frozen=True)
class Probe:
    """Tells whether a system can run here; `missing` names the absent parts."""

    missing: tuple[str, ...]
    install: str

    @property
    def available(self) -> bool:
        return not self.missing


@dataclass(frozen=True)
class System:
    """One `system.toml`; see docs/reference for the meaning of the fields."""

    name: str
    folder: Path
    title: str
    paradigm: str = ""
    parallelism: str = ""
    distributed: bool = False
    network: str = ""
    language: str = ""
    sources: tuple[str, ...] = ()
    guidance: tuple[str, ...] = ()
    constructs: tuple[str, ...] = ()
    """Patterns of the names that belong to the runtime (docs/reference/productivity.md)."""
    default: bool = False
    bound: bool = False
    """True if it shows what could be reached, and is no choice: results do not name it as the best system."""
    simulated: bool = False
    """True if its seconds are a simulation's, and not this machine's."""
    simulation_error: float = 0.0
    """Overheads were within this factor of those measured; 0: nobody has compared them."""
    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    install: str = ""
    group: str = ""
    """The name in `make setup GROUPS=…` of systems set up together; empty for systems of `--systems`."""
    megabytes: int = 0
    """The space that its set-up takes on the disk."""
    minutes: int = 0
    """The time that its set-up takes on two cores, if it builds something."""
    command: tuple[str, ...] = ()
    ranks: str = ""
    """The unit that has a rank of the command: each `core`, or each `node`. Empty if it is one process."""
    workers: bool = False
    """True if its one process starts others on further nodes, by the command of `TASKGRAIN_NODES`."""
    mpi: str = MPIS[0]
    """The MPI that its ranks are built for."""
    launcher: str = ""
    """The launcher that the user chose to start its ranks. Empty: the launcher of `mpi`."""
    env: Mapping[str, str] = field(default_factory=dict)
    withholds: tuple[str, ...] = FAMILIES
    """The families of variables that it does not get from the user's shell."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Variables that the user passes to it on purpose; they win over `env`."""
    setting: str = ""
    """The end of its name, if a study compares it with and without such variables."""
    reference: tuple[str, ...] = ()
    """The command that measures the kernel alone where the system runs it, if that is not on the cores."""
    fresh: bool = True
    """False for runtimes that compile while they run: a fresh process would be slow at first."""
    park: bool = True
    """False for runtimes whose heartbeats time out when an idle driver is stopped."""
    patience: int = 1
    """More than 1 for runtimes that take milliseconds a task, or minutes to start: multiplies time limits."""
    most_cores: int | None = None
    most_nodes: int | None = None
    """The most nodes that it can simulate."""
    kernels: tuple[str, ...] = ()
    """The kernels that it can run; empty if it can run all, or does not say."""
    nested: bool = False
    """True if it runs graphs of nested forks alone."""
    other_cores: bool = False
    """True if it may have more or fewer cores than it is given: a warning then, and no error."""
    versions: tuple[str, ...] = ()
    """The Python packages that it stands on, whose versions a result records."""
    variants: tuple[System, ...] = ()
    """The other ways to work, or other builds of the driver, each a system of its own, `name.variant`."""

    def probe(self) -> Probe:
        """Looks for the requirements of the system; starts nothing."""
        missing = [f"program {name}" for name in self.programs if shutil.which(name) is None]
        own = [word for word in self.command if word.startswith("{dir}/")]
        for name in (*own[:1], *self.files):  # what follows the driver may be a file that it writes
            path = Path(fill(name, self.folder, ()))
            if not path.exists():
                built = path.is_relative_to(self.folder)  # others are the machine's
                missing.append(f"file {path}" + (" (not built)" if built else ""))
        missing += self.started_by.missing() if self.started_by else []
        missing += [f"Python module {name}" for name in self.python if not _importable(name)]
        if not missing and self.network in _SOCKETS and (fault := network_fault()):
            return Probe((fault,), "")  # it would wait for minutes
        return Probe(tuple(dict.fromkeys(missing)), self.install)

    @property
    def started_by(self) -> Launcher | None:
        """The launcher that starts its ranks; None if it is one process."""
        return LAUNCHERS[self.launcher or self.mpi] if self.ranks else None

    @property
    def reaches(self) -> Launcher | None:
        """The launcher that starts its ranks, or other processes, on further nodes."""
        return LAUNCHERS[self.launcher or self.mpi] if self.ranks or self.workers else None

    @property
    def source(self) -> object:
        """The source of its driver, which other systems may have, too; or its name, if none is known."""
        return (self.folder / self.sources[0]).resolve() if self.sources else self.name

    @property
    def reference_name(self) -> str:
        """The name of the program that efficiency is measured against."""
        program = next((word for word in self.reference if word != "{python}"), REFERENCE)
        return Path(program).name

    def cores_of(self, cores: Sequence[int]) -> tuple[int, ...]:
        """The part of `cores` that the system can use."""
        return tuple(cores[: self.most_cores])

    @property
    def plain(self) -> str:
        """Its name without the variables that a study compares."""
        return self.name.removesuffix(self.setting)

    def with_variables(self, given: Mapping[str, str], setting: str = "") -> System:
        """The system with more variables, and the name that a study's `setting` gives it."""
        return replace(
            self,
            name=self.name + setting,
            title=f"{self.title}, {setting[1:].replace('+', ' ')}" if setting else self.title,
            setting=self.setting + setting,
            given={**self.given, **given},
        )

    @property
    def options(self) -> str:
        """The flags by which a command finds the system: the project's own need no `--systems`."""
        folder = "" if self.group else f"--systems {shlex.quote(str(self.folder))} "
        given = [f" --env {shlex.quote(f'{name}={value}')}" for name, value in stored(self.given).items()]
        return f"{folder}--system {self.plain}{''.join(given)}"

    @property
    def simulates_nodes(self) -> bool:
        """True if it simulates as many nodes as a workload has, instead of running on hosts."""
        return self.simulated and any("nodes" in names_in(word) for word in self.command)

    @property
    def one_node(self) -> str:
        """The reason why it cannot run on several nodes; empty if it can."""
        if self.simulates_nodes:
            return "simulates its nodes"
        if not self.distributed:
            return "is not distributed: it runs on one node"
        if not self.ranks and not self.workers:
            return "starts its own processes, on one node only"
        return "is measured against its own reference, which runs on one node" if self.reference else ""

    def launch(self, cores: Sequence[int], on: Sequence[Node] = (), nodes: int = 1) -> Launch:
        """The command that starts the driver on (the first it can use of) the processors `cores`; or `on`
        several nodes, of which each has its own; or that simulates so many `nodes`."""
        used = self.cores_of(cores)
        command = tuple(fill(word, self.folder, used, nodes) for word in self.command)
        ranks: int | None = None
        variables: Mapping[str, str] = {}
        launcher = self.started_by
        if launcher:
            each, its = (len(used), 1) if self.ranks == "core" else (1, len(used))
            ranks = max(1, len(on)) * each
            asked = Ranks(ranks, each, its, self.mpi, tuple(one.name for one in on), self._needed)
            command, variables = launcher.start(asked, self._on_own_cores(command, used, on))
        elif on and self.workers:
            variables = self._starting_workers(used, on)
        return Launch(
            command=command,
            env={
                **variables,
                **{key: fill(word, self.folder, used) for key, word in self.env.items()},
                **self.given,
            },
            cores=used,
            ranks=ranks,
            on=tuple(on),
            refused=self.one_node if on else "",
            park=self.park,
            simulated=nodes if self.simulated else 0,
            repeats=self.simulates_nodes,
            patience=self.patience,
            withholds=self.withholds,
            other_cores=self.other_cores,
            by=launcher.name if launcher else "",
        )

    @property
    def _needed(self) -> tuple[str, ...]:
        """The variables that its processes on other hosts need."""
        own = (MARK, "TASKGRAIN_CORES", *(("TASKGRAIN_DRIVER",) if self.workers else ()))
        return tuple(dict.fromkeys((*self.env, *self.given, *filter(os.environ.get, _EVERYWHERE), *own)))

    def _starting_workers(self, cores: Sequence[int], on: Sequence[Node]) -> Mapping[str, str]:
        """The variables for a driver that starts a process of its own on each node but the first."""
        others = tuple(one.name for one in on[1:])
        asked = Ranks(len(others), 1, len(cores), "", others, self._needed)
        launcher = self.reaches
        assert launcher is not None
        start, variables = launcher.start(asked, self._on_own_cores((), cores, on))
        nodes = [(one.name, one.host, self.cores_of(one.cores)) for one in on]
        return {**variables, "TASKGRAIN_NODES": json.dumps({"start": start, "nodes": nodes})}

    def _on_own_cores(
        self, command: tuple[str, ...], cores: Sequence[int], on: Sequence[Node]
    ) -> tuple[str, ...]:
        """The command, which on each node uses the processors of that node, as variables tell it."""
        cases = ""
        for one in on:
            if (own := self.cores_of(one.cores)) != cores:
                words = shlex.join(f"{name}={value}" for name, value in self._variables(own).items())
                cases += f"{shlex.quote(one.host)}) export {words};; "
        script = f'case $(uname -n) in {cases}esac; exec "$@"'
        return ("sh", "-c", script, "sh", *command) if cases else command

    def _variables(self, cores: Sequence[int]) -> dict[str, str]:
        """Returns the variables that depend on the processors that a node's ranks use."""
        own = {name: word for name, word in self.env.items() if names_in(word) and name not in self.given}
        return {"TASKGRAIN_CORES": ",".join(map(str, cores))} | {
            name: fill(word, self.folder, cores) for name, word in own.items()
        }

    def reference_launch(self, cores: Sequence[int], nodes: int = 1) -> Launch:
        """The command that starts `reference`, or gives the rates of so many simulated `nodes`.

        Systems in different folders may share one, so its path has no `..` that leads there from the folder.
        """
        words = [fill(word, self.folder, cores, nodes) for word in self.reference]
        if self.reference[0].startswith("{dir}"):
            words[0] = os.path.normpath(words[0])
        return Launch(tuple(words), {}, tuple(cores), other_cores=True)


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:  # to find a.b, Python imports a, which may do anything
        return False
