"""The settings of a study, in its file and on the command line: how it measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from taskgrain.study.field import Field, Type
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError

Kept = Literal["task", "step"]
KEEPS: dict[str, Kept] = {"weak": "task", "strong": "step"}
"""The thing that keeps its work where cores are added, by experiments that compare numbers of cores."""
Named = Callable[[str], str]
"""A function from a field to the name that errors give it: `--radix`, `s.toml:3:9: workloads[0].radix`."""


def _setting(kind: Type, default: object, text: str, **bounds: Any) -> Any:
    return dataclasses.field(default=default, metadata={"type": kind, "help": text, **bounds})


@dataclass(frozen=True)
class Settings:
    """The settings of a study: all of `study.toml` beside the workloads. `SETTINGS` has them as a table."""

    cores: int = _setting(
        "integer", 0, "Cores to use of each node; 0: all physical ones of the fastest kind, within the quota"
    )
    threshold: float = _setting(
        "number", 0.5, "The efficiency whose granularity is METG", high=1, above=True, below=True
    )
    precision: float = _setting(
        "number",
        0.1,
        "Half-width of the 95 % interval to reach, as a share of METG",
        high=1,
        above=True,
        below=True,
    )
    rank_precision: float = _setting(
        "number",
        0.2,
        "Half-width at which a cell also ends, if its METG is surely apart from that of every other system; "
        "no cell ends so if this is not above `precision`, or if only `precision` is given",
        high=1,
        above=True,
        below=True,
    )
    budget: float = _setting(
        "seconds",
        0.0,
        "Time for everything, over all calls; at its end runs are stopped: 90, 10m, 2h; 0: no limit",
    )
    steps: int = _setting("integer", 0, "Time steps of the graph; 0: chosen for each cell")
    repeats: int = _setting("integer", 3, "Timed repeats of a run", low=1, high=10_000)
    min_rounds: int = _setting("integer", 10, "Rounds that every cell gets", low=1, high=10_000)
    max_rounds: int = _setting("integer", 40, "Rounds that a cell gets at most", low=1, high=10_000)
    first_iterations: int = _setting(
        "integer", 64, "Iterations of the kernel in the first task size tried", low=1, high=2**40
    )
    experiment: str = _setting(
        "name",
        "metg",
        "What to measure of each cell: metg, sweep for the whole efficiency curve, weak or strong for such "
        "scaling to more cores, or at for the efficiency at given task times",
    )
    at: str = _setting(
        "durations",
        "",
        "Task times at which to measure the efficiency instead of METG, such as 20us or 20us,50us: what the "
        "work of a task takes alone on one core",
    )
    validate: str = _setting(
        "choice", "sample", "Checks of every task's inputs", choices=("off", "sample", "full")
    )
    isa: str = _setting(
        "choice",
        "auto",
        "Instruction set of the compute kernel",
        choices=("auto", "avx512", "avx2", "neon", "portable"),
    )

    launcher: str = _setting(
        "choice",
        "auto",
        "What starts the ranks of MPI programs; auto: the launcher of the MPI that each is built for",
        choices=("auto", "openmpi", "mpich", "slurm", "flux", "pbs", "lsf"),
    )
    hosts: str = _setting(
        "names",
        "",
        "Names of the hosts that nodes are taken from, a list or with commas between; this host is the first "
        "node; those of the job, unless given",
    )
    hostfile: str = _setting("text", "", "A file that names the hosts, one a line, instead of `hosts`")

    @property
    def task_seconds(self) -> tuple[float, ...]:
        """The times that `at` names."""
        return numbers.durations(self.at, "at")


SETTINGS: dict[str, Field] = {
    one.name: Field(one.name, default=one.default, **one.metadata) for one in dataclasses.fields(Settings)
}


def take_settings(table: dict[str, Any], named: Named) -> Settings:
    """Takes the settings out of a table; `named` gives the name of a field in errors. Raises `InputError`."""
    given = {name: one.read(table.pop(name), named(name)) for name, one in SETTINGS.items() if name in table}
    if given.get("at"):
        given.setdefault("experiment", "at")
        for name in ("threshold", "first_iterations"):  # a stored study has the defaults written out
            if given.get(name, SETTINGS[name].default) != SETTINGS[name].default:
                raise UsageError(
                    f"{named(name)}: is for METG, which {named('at')} does not measure; give one of them"
                )
    if "precision" in given:
        given.setdefault("rank_precision", given["precision"])
    # Who gives one of the two means the other to follow.
    least, most = given.get("min_rounds", Settings.min_rounds), given.get("max_rounds", Settings.max_rounds)
    if most < least:
        if "min_rounds" in given and "max_rounds" in given:
            raise InputError(named("min_rounds"), least, f"1 to {most}, the value of max_rounds")
        given["max_rounds" if "min_rounds" in given else "min_rounds"] = (
            least if "min_rounds" in given else most
        )
    return Settings(**given)
