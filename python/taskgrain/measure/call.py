"""The way from a study to its results, which `metg` and `study` have in common."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from taskgrain._core import InvalidSpec, Unsupported
from taskgrain.drive import environment
from taskgrain.drive.answers import DriverError, OutOfTime
from taskgrain.drive.builds import Builds
from taskgrain.drive.catalogue import package_folder
from taskgrain.drive.hosts import Hosts, ReferenceOnHosts
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.launch.launcher import Ranks
from taskgrain.drive.launch.mpirun import OPENMPI
from taskgrain.drive.session import Session
from taskgrain.drive.system import System
from taskgrain.machine import facts as machine
from taskgrain.machine import hosts as machine_hosts
from taskgrain.machine.topology import kinds_of
from taskgrain.measure import progress
from taskgrain.measure.crew import DriverName
from taskgrain.measure.experiments.experiment import Experiment
from taskgrain.measure.experiments.table import experiment_named
from taskgrain.measure.plan import Judge, Plan, cell_settings
from taskgrain.measure.runner import Runner
from taskgrain.measure.schedule import Places
from taskgrain.results import ranking
from taskgrain.results.builds import Choice, Placed, placed
from taskgrain.results.cell import Cell as StoredCell
from taskgrain.results.cell import cells as of_lines
from taskgrain.results.hosts import differences
from taskgrain.results.lines import Build, FailureLine, Host, SessionLine
from taskgrain.results.store import Store, check_folder, goes_on
from taskgrain.study.settings import Settings
from taskgrain.study.study import Study, check_steps
from taskgrain.study.variables import stored
from taskgrain.study.workload import REFERENCE, Cell, Workload, core_run
from taskgrain.words.errors import InputError, Interrupted, TaskgrainError, UsageError
from taskgrain.words.interrupts import interruptible
from taskgrain.words.quantity import counted

REFERENCE_VARIABLE = "TASKGRAIN_REFERENCE"
"""Names another program than the package's own as the reference, for tests."""


@dataclass(frozen=True)
class Measured:
    """The end of a call."""

    cells: tuple[StoredCell, ...]
    """Every cell, as far as it is known."""
    earlier: tuple[StoredCell, ...] = ()
    """The cells of earlier builds."""
    interrupted: str = ""
    """The sentence for a person who interrupted it; empty if nobody did."""
    timing: Mapping[str, float] = field(default_factory=dict)
    """The seconds of the call, by what it spent them on."""

    @property
    def complete(self) -> bool:
        """Tells whether every cell that its system supports came to an end other than a failure."""
        return all(one.kind_of == "unsupported" for one in self.failures)

    @property
    def failures(self) -> list[FailureLine]:
        return [one.failure for one in self.cells if one.failure]


def reference_launch(cores: Sequence[int]) -> Launch:
    """Returns how to start the reference. Raises `UsageError` if it is not built."""
    program = Path(os.environ.get(REFERENCE_VARIABLE) or package_folder() / "bin" / REFERENCE)
    if not os.access(program, os.X_OK):
        raise UsageError(f"{program}: is missing or no program; build the project (make setup)")
    return Launch((str(program),), {}, tuple(cores))


def plain(systems: Sequence[System]) -> list[str]:
    """Returns the names of the systems, each once, without the variables that a study compares."""
    return list(dict.fromkeys(one.plain for one in systems))


def checked_cells(study: Study, systems: Sequence[System], cores: int) -> list[Cell]:
    """Returns the study's cells.

    Raises `InputError` for an unknown experiment, `UsageError` if there are no cells, for a study that the
    experiment cannot measure, or for a graph that the core refuses.
    """
    experiment_named(study.settings.experiment, study.settings_named("experiment")).check(study, cores)
    cells = study.cells(plain(systems))
    if cells and study.only_nodes:
        there = sorted({one.workload.nodes for one in cells})
        cells = [one for one in cells if one.workload.nodes == study.only_nodes]
        if not cells:
            raise InputError("--nodes", study.only_nodes, f"of the study: {', '.join(map(str, there))}")
    if not cells:
        raise UsageError("the study has no cells; is everything excluded?")
    for workload in dict.fromkeys(cell.workload for cell in cells):
        check_steps(workload, study.settings.steps, study.settings_named("steps"))
        graphs = workload.request(1, study.settings.steps or 16)[:1]
        try:
            core_run(graphs, study.settings.isa)
            cell_settings(study.settings, workload, simulated_alone(systems) != "")
        except (InvalidSpec, Unsupported) as error:
            raise UsageError(study.complaint(workload, str(error))) from error
    return cells


def simulated_alone(systems: Sequence[System]) -> str:
    """The first system, if they simulate their nodes; else nothing. Raises `UsageError` if some alone do."""
    simulated = [one.name for one in systems if one.simulates_nodes]
    if others := [one.name for one in systems if simulated and not one.simulates_nodes]:
        raise UsageError(
            f"{simulated[0]} is simulated, and {others[0]} measured: give each its own study or command"
        )
    return simulated[0] if simulated else ""


def hosts_for(study: Study, cells: Iterable[Cell], systems: Sequence[System]) -> tuple[str, ...]:
    """Returns the names of the hosts that cells need; none if each is for one node, or simulated. Raises
    `UsageError` if there are too few, if those that are given cannot be, or if some systems alone are
    simulated: what was measured and what was not would stand in one table; and `InputError` for more nodes
    than a system simulates."""
    settings, named = study.settings, study.settings_named
    if simulated := simulated_alone(systems):
        for option in ("hosts", "hostfile"):
            if given := getattr(settings, option):
                raise InputError(named(option), given, f"none, as {simulated} simulates its nodes")
        most = {one.name: one.most_nodes for one in systems}
        for cell in cells:
            nodes, limit = cell.workload.nodes, most[cell.system]
            if limit and nodes > limit:
                field = study.named.get(cell.workload, str)("nodes")
                raise InputError(field, nodes, f"1 to {limit}, which {cell.system} has")
        return ()
    largest = max((cell.workload for cell in cells), key=lambda one: one.nodes)
    if largest.nodes == 1 and not settings.hosts and not settings.hostfile:
        return ()
    found = machine_hosts.hosts(settings.hosts, settings.hostfile, named)
    if largest.nodes > len(found):
        if all(one.one_node for one in systems):
            said = f"nodes: {systems[0].name} {systems[0].one_node}"
            raise UsageError(study.complaint(largest, said))
        there = f"{counted(len(found), 'host')} known: {', '.join(found)}"
        said = f"nodes: {largest.nodes} are asked for, with {there}; name more by --hosts or --hostfile"
        raise UsageError(study.complaint(largest, said))
    return found[: largest.nodes] if largest.nodes > 1 else ()


def foretold(
    study: Study,
    systems: Sequence[System],
    cores: Sequence[int],
    output: Path,
    other_builds: Choice,
    hosts: Sequence[str],
) -> list[str]:
    """Returns what `measure` would say of its folder, or raises what it would, without measuring anything.

    With several `hosts`, builds and machine are not compared: only agents on them would tell. Nor where the
    reference is not built.
    """
    check_folder(output)
    own = None
    if output.exists() and not hosts:
        facts = machine.facts(dict.fromkeys(name for one in systems for name in one.versions))
        with contextlib.suppress(UsageError):  # a dry run needs nothing that is built
            own = session(systems, cores, facts)
    return goes_on(output, study.table(plain(systems), len(cores)), completed, own, other_builds)[2]


def agents(names: Sequence[str], systems: Sequence[System], cores: Sequence[int]) -> Hosts:
    """Returns the hosts, with what starts an agent on each of the others: the first system's launcher."""
    launcher = next((one.reaches for one in systems if one.reaches), OPENMPI)
    program = reference_launch(cores).command[0]

    def launch(name: str) -> Launch:
        agent = [sys.executable, "-m", "taskgrain.drive.host_agent", program, str(len(cores))]
        command, variables = launcher.start(Ranks(1, 1, len(cores), hosts=(name,)), agent)
        return Launch(command, variables, (), park=False, other_cores=True)

    return Hosts(names, cores, launch)


def measure(
    study: Study,
    systems: Sequence[System],
    cores: Sequence[int],
    output: Path | None,
    *,
    quiet: bool,
    retry: bool = False,
    other_builds: Choice = "refuse",
    experiment: type[Experiment] | None = None,
    judge: Judge | None = None,
    kept: bool = True,
    begun: float | None = None,
) -> Measured:
    """Measures a study into `output`, or into a folder that is thrown away; without `kept`, the caller throws
    `output` away.

    `other_builds` says what becomes of cells that `output` has of other builds of the systems; `experiment`
    and `judge` are those of a `Plan`. The budget counts from the first cell on, or from `begun`, by the
    monotonic clock.

    Ctrl-C, SIGTERM and SIGHUP end it with what is known; a second one raises `Interrupted`. Raises
    `TaskgrainError`, above all `UsageError`.
    """
    cells = checked_cells(study, systems, len(cores))
    names = hosts_for(study, cells, systems)
    counts = dict.fromkeys([(0, 1), *((cell.workload.cores, cell.workload.nodes) for cell in cells)])
    with contextlib.ExitStack() as stack:
        facts = machine.facts(dict.fromkeys(name for one in systems for name in one.versions))
        hosts = stack.enter_context(agents(names, systems, cores))
        if study.settings.budget:
            end = (time.monotonic() if begun is None else begun) + study.settings.budget
            hosts.time_left = lambda: end - time.monotonic()
        told = facts_of(hosts, machine.of_host(facts))
        launches = {
            DriverName(name, n, nodes): one
            for n, nodes in counts
            for name, one in _launches(systems, cores[: n or None], hosts, nodes).items()
        }
        folder = stack.enter_context(folder_for(output))
        table = study.table(plain(systems), len(cores))
        own = replace(session(systems, cores, facts), hosts=told)
        if told:
            own = replace(own, machine=machine.together(str(one.machine) for one in told))
        store = stack.enter_context(Store(folder, table, facts, completed, own, other_builds))

        def make_driver(name: DriverName) -> Session:
            log = store.logs / f"{'-'.join((name.system, *name.places)).replace(' ', '-')}.log"
            if name.system == REFERENCE and name.nodes > 1:
                return ReferenceOnHosts(name.system, launches[name], log, hosts, name.nodes)
            return Session(name.system, launches[name], log, hosts=hosts)

        plan = Plan(
            cells=cells,
            systems={system.name: system for system in systems},
            settings=replace(study.settings, cores=len(cores)),
            make_driver=make_driver,
            retry=retry,
            reporter=progress.reporter(quiet),
            experiment=experiment,
            judge=judge or Places(study.settings),
            cores=cores,
            hosts=names,
            others={one.name for one in study.cells(plain(systems))} - {one.name for one in cells},
            commands=judge is None,
            begun=begun,
        )
        for said in differences(own.hosts):
            plan.reporter.note(said)
        stored = _known(store.history, cells)
        if not retry and _spent(store, stored.cells, study.settings.budget):
            for warning in store.warnings:
                plan.reporter.note(warning)
            _settle(store)
            return stored
        runner: Runner | None = None
        said = ""
        try:
            with interruptible():
                runner = Runner(plan, store)
                hosts.time_left = runner.time_left
                runner.run()
        except KeyboardInterrupt:
            goes_on = output is not None and kept
            on = "the same command goes on from here" if goes_on else "nothing is kept without --output"
            said = f"interrupted; {on}"
        try:
            with interruptible():
                if said and runner:
                    runner.interrupt()
        except KeyboardInterrupt:
            raise Interrupted(said or "interrupted") from None
        # Other builds have not yet taken the place of those in the folder.
        if runner is None or (said and not runner.begun):
            return replace(_known(placed(store.contents.stored), cells), interrupted=said)
        if not runner.begun:
            _settle(store)
        found = tuple(state.stored for state in runner.record.cells.values())
        return replace(stored, cells=found, interrupted=said, timing=plan.timing.seconds())


def _known(history: Sequence[Placed], cells: Sequence[Cell]) -> Measured:
    """Returns the results of the cells, and of those of earlier builds, from lines."""
    found = of_lines(one.line for one in history if one.used)
    own = (found.get(cell.name) or StoredCell(cell.name) for cell in cells)
    return Measured(tuple(own), tuple(one for one in found.values() if one.earlier))


def _settle(store: Store) -> None:
    """Writes the session of a call that had nothing to measure, where the stored lines end with other builds
    or another machine: readers take the cells of the last session for those that there are now."""
    last = next((one for one in reversed(store.contents.stored) if isinstance(one, SessionLine)), None)
    now = store.session
    if last is None or now is None:
        return
    moved = last.machine not in (None, now.machine)
    if moved or any(last.builds.get(name, build) != build for name, build in now.builds.items()):
        store.append(replace(now, elapsed=max(one.elapsed or 0.0 for one in store.contents.stored)))


def _spent(store: Store, cells: Sequence[StoredCell], budget: float) -> bool:
    """Tells whether all cells have ended, and the budget (0: none) is spent: nothing has to be done."""
    own = (one.line for one in store.history if not one.earlier)
    spent = max((line.elapsed or 0.0 for line in own), default=0.0)
    ended = all(one.result and one.ending.final for one in cells)
    return 0.0 < budget <= spent and ended and all(map(_compared, ranking.by_workload(cells).values()))


def _compared(cells: Sequence[StoredCell]) -> bool:
    """Tells whether the cells of a workload have their ratios to the best, and to the bounds."""
    known, best = [one for one in cells if one.metg.value], ranking.best(cells)
    others = [best] if best else []
    others += [one for one in ranking.bounds(cells) if one is not best]
    return bool(others or not known) and all(a is b or a.ratio_to(b.name) for a in known for b in others)


def facts_of(hosts: Hosts, own: Mapping[str, Any]) -> tuple[Host, ...]:
    """Returns a line for each of several hosts; none if there is one.

    Raises `UsageError` if one cannot be reached, or if two are one host under two names; `TaskgrainError` if
    the time ends before all have answered.
    """
    try:
        others = hosts.facts()
    except OutOfTime as error:
        raise TaskgrainError(str(error)) from None
    except DriverError as error:
        raise UsageError(f"{error.message}{_told(error.log_tail)}") from None
    every = {hosts.names[0]: own, **others} if others else {}
    if len({facts["host"] for facts in every.values()}) < len(every):
        same = ", ".join(f"{name} is {facts['host']}" for name, facts in every.items())
        raise UsageError(f"hosts: {same}; a node is a host of its own")
    return tuple(Host(**{**facts, "host": name}) for name, facts in every.items())


def _told(log: str) -> str:
    """The first words of a launcher's output, and a file that has all; empty if it printed nothing."""
    said = next((line for line in log.splitlines() if re.match(r"\W*\w", line) and line[0] != "["), "")
    if not said:
        return ""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="taskgrain-", suffix=".log", delete=False
    ) as file:
        file.write(log + "\n")
    return f": {said.strip()} (all that was said: {file.name})"


def launch_on(system: System, cores: Sequence[int], hosts: Hosts | None, nodes: int) -> Launch:
    """Returns how to start a system on so many nodes: hosts, unless it simulates them."""
    on = hosts.nodes(nodes, len(cores)) if hosts and not system.simulates_nodes else ()
    return system.launch(cores, on, nodes)


def _launches(systems: Sequence[System], cores: Sequence[int], hosts: Hosts, nodes: int) -> dict[str, Launch]:
    """Returns how to start the systems and their references, by name, on so many nodes. Raises `UsageError`
    if it cannot be."""
    found = {one.name: launch_on(one, cores, hosts, nodes) for one in systems}
    found[REFERENCE] = reference_launch(cores)
    for one in systems:
        if one.reference:
            launch = one.reference_launch(cores, nodes)
            if found.setdefault(one.reference_name, launch) != launch:
                name = one.reference_name
                raise UsageError(f"{one.name}: launch.reference: {name} is something else's name; rename it")
    return found


def session(systems: Sequence[System], cores: Sequence[int], facts: Mapping[str, Any]) -> SessionLine:
    """Returns the session that begins, with the builds that are there."""
    references = {one.reference_name: one.reference_launch(cores).command for one in systems if one.reference}
    references[REFERENCE] = reference_launch(cores).command
    builds = Builds(references)
    found = {one.name: builds.of(one) for one in systems}
    found |= {name: builds.of_reference(name) for name in references}
    described = {
        one.name: Build(
            env=stored(one.given) if one.given else None,
            title=one.title,
            parallelism=one.parallelism or None,
            distributed=one.distributed,
        )
        for one in systems
    }
    withheld, libraries = environment.of_session(os.environ, [one.withholds for one in systems])
    for launcher in {one.reaches for one in systems}:  # one that is asked for gets the variables of its job
        for name in launcher.allocation if launcher else ():
            withheld.pop(name, None)
    own, cpu = facts["taskgrain"], facts["cpu"]
    return SessionLine(
        session=secrets.token_hex(4),
        machine=machine.fingerprint(facts),
        boot=machine.boot_id(),
        taskgrain=own["version"],
        commit=own["commit"] and own["commit"] + ("-dirty" if own["dirty"] else ""),
        host=facts["host"],
        cpu=cpu["model"],
        kernel=facts["kernel"],
        governor=cpu["frequency"].get("governor"),
        limit=cpu["limit"],
        cores=tuple(cores),
        kinds=kinds_of(cores),
        systems=tuple(
            replace(described.get(name, Build()), name=name, build=build) for name, build in found.items()
        ),
        withheld=withheld or None,
        libraries=libraries or None,
    )


def completed(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """A stored `study.toml` with the fields that the version which wrote it did not know, at their defaults.

    That is what they meant: a new field's default must be what was done before there was the field.
    """
    workloads = table.get("workloads")
    if isinstance(workloads, list) and all(isinstance(one, dict) for one in workloads):
        table = {**table, "workloads": [Workload("", 0).fields() | one for one in workloads]}
    return asdict(Settings()) | dict(table)


@contextlib.contextmanager
def folder_for(output: Path | None) -> Iterator[Path]:
    """Gives the folder for results: the user's, or one that is thrown away."""
    if output is not None:
        yield output
        return
    try:
        thrown_away = tempfile.TemporaryDirectory(prefix="taskgrain-", ignore_cleanup_errors=True)
    except OSError as error:
        raise UsageError(f"no folder for what is measured: {error.strerror}; give --output") from None
    with thrown_away as temporary:
        yield Path(temporary, "results")
