"""The lines of `runs.jsonl`: a type for each kind, with the unit and the meaning of each field.

docs/reference/results.md shows them. A field that a line lacks, or whose value makes no sense, is None, or an
empty tuple where it is a list. All times are in seconds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from taskgrain.results import values
from taskgrain.results.field import Field, Read, amount, field, flag, integer, plain, positive, text
from taskgrain.study.fields import WORKLOAD as FIELDS
from taskgrain.study.workload import REFERENCE, Workload
from taskgrain.words.endings import Ending
from taskgrain.words.interval import Interval

UNKNOWN_ERROR = "unknown"
"""The kind of a failure whose line names none."""
SCHEMA = 1
"""The newest schema that this version knows, and the one that it writes."""

ReferenceKey = tuple[Any, ...]
"""The values that tell references apart: the program, and the values of `OF_A_REFERENCE`; the last are its
nodes, and the cores of each."""
_TYPES: dict[str, Read] = {
    "integer": values.integer,
    "bytes": values.integer,
    "number": values.number,
    "seconds": values.number,
    "flag": values.flag,
}
WORKLOAD: dict[str, Read] = {name: _TYPES.get(one.type, values.text) for name, one in FIELDS.items()}
"""The readers of the fields of a workload."""
_SIZES = (name for name in Workload("", 0).reference() if name != "name")
OF_A_REFERENCE = ("kernel", *_SIZES, "nodes", "cores")
"""The fields of a workload that say what the kernel does alone, and on how many nodes and cores at once."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """The fields that every line has."""

    kind: ClassVar[str]
    schema: int = SCHEMA
    time: float | None = field(values.number, "Unix time at which the line was written", "s")
    elapsed: float | None = amount("measured so far, over all calls", "s")

    def to_json(self) -> dict[str, Any]:
        head = {"schema": self.schema, "kind": self.kind}
        if self.time is not None:
            head["time"] = self.time
        return head | _own(self) | ({} if self.elapsed is None else {"elapsed": self.elapsed})


@dataclass(frozen=True, kw_only=True)
class UnknownLine(Line):
    """A line of a kind that this version does not know, or of another program, as it stands."""

    kind: ClassVar[str] = ""
    content: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return dict(self.content)


@dataclass(frozen=True, kw_only=True)
class OfCell(Line):
    cell: str = dataclasses.field(
        metadata={
            "field": Field(values.text, "name of the cell: system, pattern, and whatever is not the default")
        }
    )


@dataclass(frozen=True, kw_only=True)
class Build:
    """The build of a system, or a reference, when a session began."""

    name: str | None = text("name of the system, or of the reference")
    build: str | None = text("hash of its driver, and of the reference that it is measured against")
    env: Mapping[str, Any] | None = field(values.table, "variables that the user passed to it on purpose")
    title: str | None = text("title of the system, of its system.toml")
    parallelism: str | None = text("explicit or implicit, of its system.toml")
    distributed: bool | None = flag("whether it runs on several nodes, of its system.toml")


@dataclass(frozen=True, kw_only=True)
class Host:
    """One of several hosts that a session measures on."""

    host: str | None = text("name of the host")
    machine: str | None = text("hash of what decides how fast it is")
    cpu: str | None = text("model of its processors")
    cores: int | None = integer("physical cores that it has for this")
    memory_bytes: int | None = integer("memory, to a GiB", "B")
    kernel: str | None = text("version of its kernel")
    governor: str | None = text("frequency governor of its first processor")


@dataclass(frozen=True, kw_only=True)
class SessionLine(Line):
    """One call that measures: all lines up to the next such line are of it.

    It stands before the first line that the call writes; a call that has nothing to measure writes none, but
    where the last one was of other builds or another machine.
    """

    kind: ClassVar[str] = "session"
    session: str | None = text("name of the session, a random one")
    machine: str | None = text("hash of what decides how fast the machine is: CPU, caches, memory, kernel")
    boot: str | None = text("boot of the machine, as the kernel names it")
    taskgrain: str | None = text("version of taskgrain")
    commit: str | None = text("commit of taskgrain, with `-dirty` after changes")
    host: str | None = text("name of the machine")
    cpu: str | None = text("model of its processors")
    kernel: str | None = text("version of its kernel")
    governor: str | None = text("frequency governor of its first processor")
    limit: float | None = positive("cores that the quota of the control group allows")
    cores: tuple[int, ...] = field(values.integer, "processors that are measured on", listed=True)
    hosts: tuple[Host, ...] = field(
        values.table, "the hosts, this one first, if there are several", listed=True, made=Host
    )
    kinds: tuple[str, ...] = field(
        values.text, "kind of each core, where the machine has several", listed=True
    )
    systems: tuple[Build, ...] = field(
        values.table, "the builds of the systems and of their references", listed=True, made=Build
    )
    withheld: Mapping[str, Any] | None = field(
        values.table, "variables of the user's shell that no driver got, because runtimes read them"
    )
    libraries: Mapping[str, Any] | None = field(
        values.table, "variables of the user's shell that drivers got and that choose their libraries"
    )
    restarted: tuple[str, ...] = field(
        values.text, "systems and references of which no earlier line counts any more", listed=True
    )

    @property
    def builds(self) -> dict[str, str]:
        """The builds that are known, by name."""
        return {one.name: one.build for one in self.systems if one.name and one.build}

    @property
    def where(self) -> str | None:
        """The name of the machine, of several hosts all of them: others may be of the same kind."""
        return ", ".join(str(one.host) for one in self.hosts) or self.host


@dataclass(frozen=True, kw_only=True)
class CellLine(OfCell):
    """A cell as it starts, or as it starts again after a failure."""

    kind: ClassVar[str] = "cell"
    system: str | None = text("system")
    workload: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The fields of the workload that the line has; in JSON they stand in the line itself."""
    steps: int | None = integer("time steps of the graph; 0: chosen for each cell")
    threshold: float | None = field(values.share, "the efficiency that METG is for")
    cores: int | None = integer("cores that the system occupies")
    bound: bool | None = flag("whether the system only shows what could be reached")
    simulated: bool | None = flag("whether its times are of a simulation")
    simulation_error: float | None = positive("factor within which its simulation was of what is measured")
    command: str | None = text("the command that measures the cell alone")
    reference: str | None = text("the program that efficiency is measured against")
    driver: Mapping[str, Any] | None = field(values.table, "what the driver said of itself when it started")

    @property
    def reference_key(self) -> ReferenceKey:
        """The key of the lines of its reference."""
        return _reference_key(self.reference, self.workload)


@dataclass(frozen=True, kw_only=True)
class Attempt(OfCell):
    """One answer of a driver."""

    phase: str | None = text(
        "bracket, measure, sweep, start (few steps), longer (many), or floor (the empty kernel)"
    )
    round: int | None = integer("round of the phase, from 0")
    iterations: int | None = integer("of the kernel in each task; 0: the empty kernel")
    steps: int | None = integer("time steps of the graph")
    process: int | None = field(
        values.ordinal, "which of the processes of its system in this session answered, from 1"
    )
    seconds: tuple[float | None, ...] = positive(
        "wall time of the sample", "s", listed=True, gaps=True, always=True
    )
    """One for each timed repeat."""
    waited: tuple[float | None, ...] = amount(
        "that its threads, all together, waited in the sample for processors that others had",
        "s",
        listed=True,
        gaps=True,
    )
    """One for each timed repeat; none where the driver does not know."""
    prepare_seconds: tuple[float | None, ...] = amount(
        "spent on the graph before the clock started", "s", listed=True, gaps=True, always=True
    )
    """One for each timed repeat, or one for all of them."""
    tasks: int | None = integer("tasks of the sample")
    dependencies: int | None = integer("dependences of the sample")
    work: float | None = amount("work of the sample", "work_unit")
    work_unit: str | None = text("unit of work: flop, byte, iteration")
    cores: int | None = integer("cores that the system occupies")
    peak_rss_bytes: int | None = integer("largest resident memory of the driver so far", "B")
    binding: tuple[tuple[int, ...], ...] = field(
        values.places, "processors that each worker may use", listed=True
    )
    busy: float | None = amount("share of the cores' time that others took during the run")
    busy_hosts: tuple[float | None, ...] = amount(
        "the same of each host, this one first, if there are several", listed=True
    )
    steal: float | None = amount("the hypervisor's part of it")
    throttled: float | None = positive(
        "for which the control group's quota stopped threads during the run, all together", "s"
    )
    switches: int | None = integer("involuntary context switches of the driver's threads during the run")
    joules: float | None = amount(
        "energy of all processors during the run, preparation and warm-up included", "J"
    )
    warnings: tuple[values.Warning, ...] = field(values.warning, "what was odd about the answer", listed=True)
    disturbed: bool | None = flag(
        "whether other programs disturbed all repeats of the run, by `busy` and `waited`, or a quota did"
    )
    attempts: int | None = integer("number of attempts, because a disturbed run is repeated")


@dataclass(frozen=True, kw_only=True)
class RunLine(Attempt):
    """An answer that counts."""

    kind: ClassVar[str] = "run"


@dataclass(frozen=True, kw_only=True)
class RejectedLine(Attempt):
    """An answer that others disturbed; the run was repeated."""

    kind: ClassVar[str] = "rejected"


@dataclass(frozen=True, kw_only=True)
class ReferenceLine(Line):
    """One measurement of the kernel alone."""

    kind: ClassVar[str] = "reference"
    program: str | None = text("the program that measured")
    workload: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The fields of `OF_A_REFERENCE` that the line has; in JSON they stand in the line itself."""
    rates: tuple[float | None, ...] = positive(
        "of the kernel alone on that core, all cores running",
        "work_unit/s",
        listed=True,
        gaps=True,
        always=True,
    )
    """One for each core, or for each processor where the program is a system's own."""
    work_unit: str | None = text("unit of work: flop, byte, iteration")
    busy: float | None = amount("share of the cores' time that others took")
    steal: float | None = amount("the hypervisor's part of it")
    load: float | None = amount("processes that ran or waited for a core, averaged over a minute")
    hertz: int | None = integer("clock of the first core, where the system tells", "Hz")

    @property
    def reference_key(self) -> ReferenceKey:
        """The key that tells it from other references."""
        return _reference_key(self.program, self.workload)


def _reference_key(program: str | None, workload: Mapping[str, Any]) -> ReferenceKey:
    """The key of a reference. Older lines do not name the program, as there was one, nor sizes or cores."""
    kernel, *others = OF_A_REFERENCE
    sizes = (workload.get(name, FIELDS[name].default) for name in others)
    return program or REFERENCE, workload.get(kernel), *sizes


@dataclass(frozen=True, kw_only=True)
class CrashLine(OfCell):
    """A driver ended and was started again for the same run."""

    kind: ClassVar[str] = "crash"
    message: str | None = text("how it ended")
    log: str | None = text("the last lines that it printed")

    @property
    def kind_of(self) -> str:
        return self.kind


@dataclass(frozen=True, kw_only=True)
class FailureLine(OfCell):
    """A cell failed."""

    kind: ClassVar[str] = "failure"
    error: str | None = text("kind of the failure that ended the cell")
    message: str | None = text("its message")
    log: str | None = text("the last lines that the driver printed")

    def text(self) -> str:
        """The failure in a line."""
        return f"{self.cell}: {self.kind_of}: {self.message or ''}"

    @property
    def kind_of(self) -> str:
        return self.error or UNKNOWN_ERROR


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """One task size of a cell's efficiency curve."""

    iterations: float | None = positive("of the kernel in each task")
    granularity: float | None = positive("median over the rounds", "s")
    granularity_low: float | None = positive("lower end of its 95 % interval", "s", always=True)
    granularity_high: float | None = positive("upper end of its 95 % interval", "s", always=True)
    efficiency: float | None = field(values.number, "share of the peak rate")
    efficiency_low: float | None = field(values.number, "lower end of its 95 % interval", always=True)
    efficiency_high: float | None = field(values.number, "upper end of its 95 % interval", always=True)
    repeats: int | None = integer("samples behind the point")
    asked: float | None = positive("that the work of a task was to take alone, if that was given", "s")

    @property
    def time(self) -> Interval:
        """The granularity with its interval."""
        return Interval(self.granularity, self.granularity_low, self.granularity_high)

    @property
    def share(self) -> Interval:
        """The efficiency with its interval."""
        return Interval(self.efficiency, self.efficiency_low, self.efficiency_high)


@dataclass(frozen=True, kw_only=True)
class MetgLine(OfCell):
    """The result of a cell."""

    kind: ClassVar[str] = "metg"
    ending: Ending | None = field(  # noqa: RUF009 - as all fields here
        values.ending, "why the cell ended (see the results folder), or unfinished"
    )
    threshold: float | None = field(values.share, "the efficiency that METG is for")
    metg: float | None = positive("METG", "s", always=True)
    low: float | None = positive("lower end of its 95 % interval", "s", always=True)
    high: float | None = positive("upper end of its 95 % interval", "s", always=True)
    work: float | None = positive("work of a task at METG, which does not depend on the clock", "work_unit")
    work_low: float | None = positive("lower end of its 95 % interval", "work_unit")
    work_high: float | None = positive("upper end of its 95 % interval", "work_unit")
    iterations: float | None = positive("iterations of a task at METG", always=True)
    overhead: float | None = positive("of a task at METG: what remains at no work", "s")
    overhead_low: float | None = positive("lower end of its 95 % interval", "s")
    overhead_high: float | None = positive("upper end of its 95 % interval", "s")
    floor: float | None = positive("granularity of the empty kernel", "s", always=True)
    floor_low: float | None = positive("lower end of its 95 % interval", "s", always=True)
    floor_high: float | None = positive("upper end of its 95 % interval", "s", always=True)
    start: float | None = amount("start and end of a run, which METG is without", "s")
    start_low: float | None = amount("lower end of its 95 % interval", "s")
    start_high: float | None = amount("upper end of its 95 % interval", "s")
    rounds: int | None = integer("complete rounds")
    systematic: float | None = amount(
        "half-width of the interval, relative to METG, that more rounds do not make narrower"
    )
    lasting: float | None = amount(
        "half-width of the interval, relative to METG, that comes from what processes differ by"
    )
    inflation: float | None = amount(
        "variance relative to that of independent rounds: neighbouring ones are alike"
    )
    peak_rate: float | None = positive(
        "peak rate of one core beside the runs, the 100 % of the efficiency", "work_unit/s", always=True
    )
    best_rate: float | None = positive("peak rate of one core at quiet times", "work_unit/s")
    curve: tuple[CurvePoint, ...] = field(
        values.table, "the efficiency curve", listed=True, always=True, made=CurvePoint
    )
    warnings: tuple[values.Warning, ...] = field(
        values.warning, "what to know of the result", listed=True, always=True
    )
    repeated_runs: int | None = integer("runs that others disturbed and that were repeated")
    disturbed_runs: int | None = integer("runs that stayed disturbed")
    runs: int | None = integer("runs of the cell")

    def number(self, name: str) -> Interval:
        """A quantity with its interval: `metg`, `work`, `overhead`, `floor` or `start`."""
        prefix = "" if name == "metg" else f"{name}_"
        return Interval(getattr(self, name), getattr(self, f"{prefix}low"), getattr(self, f"{prefix}high"))


@dataclass(frozen=True, kw_only=True)
class RatioLine(OfCell):
    """METG of the cell divided by another's, from the rounds in which both ran."""

    kind: ClassVar[str] = "ratio"
    to: str | None = text("the cell that it is divided by: the best of the workload, or a bound")
    value: float | None = positive("the ratio")
    low: float | None = positive("lower end of its 95 % interval", always=True)
    high: float | None = positive("upper end of its 95 % interval", always=True)
    rounds: int | None = integer("rounds that both cells have")

    @property
    def ratio(self) -> Interval:
        return Interval(self.value, self.low, self.high)


_MEASURED = (SessionLine, CellLine, RunLine, RejectedLine, ReferenceLine)
_ENDS = (CrashLine, FailureLine, MetgLine, RatioLine)
TYPES: dict[str, type[Line]] = {one.kind: one for one in (*_MEASURED, *_ENDS)}


def _own(line: Line) -> dict[str, Any]:
    """The fields of a line except those of every line."""
    found: dict[str, Any] = {}
    for one in dataclasses.fields(line):
        value = getattr(line, one.name)
        if one.name == "workload":
            found |= {FIELDS[name].column: one for name, one in value.items()}
        elif one.name not in ("schema", "time", "elapsed") and (
            value not in (None, ()) or one.metadata["field"].always
        ):
            found[one.name] = plain(value)
    return found
