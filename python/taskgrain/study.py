"""A study file: which systems on which workloads, and how well each cell shall be known.

The top-level lists are multiplied out; `[[workloads]]`, an array of tables, is the general form.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from taskgrain import numbers
from taskgrain.errors import InputError, UsageError
from taskgrain.search import SearchSettings
from taskgrain.store import read_toml
from taskgrain.system import System
from taskgrain.workload import Cell, Kernel, Workload

VALIDATE = ("off", "sample", "full")
ISAS = ("auto", "avx512", "avx2", "neon", "portable")
_MOST_WORKLOADS = 10_000


@dataclass(frozen=True)
class Settings:
    """How a study measures; the defaults are the search's (taskgrain.search)."""

    cores: int = 0
    """0: all physical cores that this process may use."""
    threshold: float = SearchSettings.threshold
    """The efficiency whose granularity is METG."""
    precision: float = SearchSettings.precision
    """The wished half-width of the 95 % interval, as a share of METG."""
    budget: float = 0.0
    """Seconds for the whole study, over all calls; 0: no limit."""
    steps: int = 0
    """0: chosen for each cell."""
    repeats: int = SearchSettings.repeats
    min_rounds: int = SearchSettings.min_rounds
    max_rounds: int = SearchSettings.max_rounds
    first_iterations: int = SearchSettings.first_iterations
    """Where the search begins."""
    sweep: bool = False
    """Measure the whole curve, as the Task Bench paper does, and not only where it crosses the threshold."""
    validate: str = "sample"
    isa: str = "auto"

    def search(self) -> SearchSettings:
        """The same for the search of one cell."""
        return SearchSettings(
            threshold=self.threshold,
            precision=self.precision,
            min_rounds=self.min_rounds,
            max_rounds=self.max_rounds,
            repeats=self.repeats,
            steps=self.steps or None,
            sweep=self.sweep,
            first_iterations=self.first_iterations,
        )


def take_settings(table: dict[str, Any], named: Callable[[str], str]) -> Settings:
    """Takes the settings out of a table; `named` makes of a field what a bad value is reported as."""

    def take(name: str) -> tuple[Any, str]:
        return table.pop(name, getattr(Settings, name)), named(name)

    threshold = numbers.real(*take("threshold"), above=True)
    if threshold >= 1.0:
        raise InputError(named("threshold"), threshold, "a number above 0 and below 1")
    # Who gives one of the two means the other to follow.
    given = "min_rounds" in table, "max_rounds" in table
    least = numbers.integer(*take("min_rounds"), low=1, high=10_000)
    most = numbers.integer(*take("max_rounds"), low=1, high=10_000)
    if most < least and all(given):
        raise InputError(named("min_rounds"), least, f"1 to {most}, the value of max_rounds")
    return Settings(
        cores=numbers.integer(*take("cores")),
        threshold=threshold,
        precision=numbers.real(*take("precision"), high=1.0, above=True),
        budget=numbers.seconds(*take("budget"), above=False),
        steps=numbers.integer(*take("steps")),
        repeats=numbers.integer(*take("repeats"), low=1, high=10_000),
        min_rounds=least if given[0] else min(least, most),
        max_rounds=most if given[1] else max(least, most),
        first_iterations=numbers.integer(*take("first_iterations"), low=1, high=2**40),
        sweep=numbers.flag(*take("sweep")),
        validate=numbers.text(*take("validate"), VALIDATE),
        isa=numbers.text(*take("isa"), ISAS),
    )


def workload(table: Mapping[str, Any], cores: int, named: Callable[[str], str]) -> Workload:
    """A workload from one value a field; `named` makes of a field what a bad value is reported as.

    `width` or `tasks_per_core` (which is multiplied by `cores`); one task a core if neither is there.
    """
    rest = dict(table)

    def take(key: str, default: object) -> tuple[Any, str]:
        return rest.pop(key, default), named(key)

    if "width" in rest and "tasks_per_core" in rest:
        raise UsageError(f"{named('width')} and {named('tasks_per_core')}: give one of the two")
    if "width" in rest:
        width = numbers.integer(*take("width", None), low=1)
    else:
        width = cores * numbers.integer(*take("tasks_per_core", 1), low=1, high=2**40)
    pattern = numbers.text(*take("pattern", None))
    if not pattern:
        raise InputError(named("pattern"), pattern, "the name of a pattern")
    made = Workload(
        pattern=pattern,
        width=width,
        radix=numbers.integer(*take("radix", Workload.radix)),
        period=numbers.integer(*take("period", Workload.period)),
        fraction=numbers.real(*take("fraction", Workload.fraction), high=1.0),
        seed=numbers.integer(*take("seed", Workload.seed)),
        dag=numbers.text(*take("dag", Workload.dag)),
        output_bytes=numbers.size(*take("output_bytes", Workload.output_bytes), low=16),
        graphs=numbers.integer(*take("graphs", Workload.graphs), low=1, high=100_000),
        kernel=Kernel(
            name=numbers.text(*take("kernel", Kernel.name)),
            imbalance=numbers.real(*take("imbalance", Kernel.imbalance), high=2.0),
            persistent=numbers.flag(*take("persistent", Kernel.persistent)),
            scratch_bytes=numbers.size(*take("scratch_bytes", Kernel.scratch_bytes)),
            samples=numbers.integer(*take("samples", Kernel.samples), low=1),
        ),
    )
    for key in rest:
        raise InputError(named("key"), key, ", ".join(WORKLOAD_KEYS))
    return made


WORKLOAD_KEYS = (
    *(
        "pattern",
        "width",
        "tasks_per_core",
        "radix",
        "period",
        "fraction",
        "seed",
        "dag",
        "output_bytes",
        "graphs",
    ),
    *("kernel", "imbalance", "persistent", "scratch_bytes", "samples"),
)
"""The keys of a `[[workloads]]` table."""
_LISTS = {"patterns": "pattern", "widths": "width"}
"""Top-level keys whose plural is the list of a workload's field; the others have one name for both."""


@dataclass(frozen=True)
class Study:
    """What is to be measured. `cells` gives it in the order of its workloads, all systems of one together."""

    systems: tuple[str, ...]
    workloads: tuple[Workload, ...]
    settings: Settings = field(default_factory=Settings)
    exclude: tuple[Mapping[str, Any], ...] = ()
    title: str = ""

    def cells(self, systems: Sequence[System]) -> list[Cell]:
        """Every system on every workload, but for those excluded."""
        every = [Cell(system.name, one) for one in self.workloads for system in systems]
        return [cell for cell in every if not any(_matches(cell, rule) for rule in self.exclude)]

    def table(self, systems: Sequence[System], cores: int) -> dict[str, Any]:
        """`study.toml` with all defaults written out and the systems and cores as they are here."""
        settings = asdict(self.settings) | {"cores": cores}
        rules = [dict(rule) for rule in self.exclude]
        return {
            **({"title": self.title} if self.title else {}),
            "systems": [system.name for system in systems],
            **settings,
            **({"exclude": rules} if rules else {}),
            "workloads": [one.fields() for one in self.workloads],
        }


def _matches(cell: Cell, rule: Mapping[str, Any]) -> bool:
    own = cell.fields()
    return all(
        own[key] in value if isinstance(value, list) else own[key] == value for key, value in rule.items()
    )


def read(file: Path, cores: int) -> Study:
    """A study from its TOML file; `tasks_per_core` is multiplied by `cores` unless the file has its own."""
    return parse(read_toml(file), f"{file}: ", cores)


def parse(table: Mapping[str, Any], where: str, cores: int) -> Study:
    """A study from its table; `where` comes before the name of a bad field."""
    rest = dict(table)
    title = numbers.text(rest.pop("title", ""), f"{where}title")
    settings = take_settings(rest, where.__add__)
    cores = settings.cores or cores
    systems = rest.pop("systems", "default")
    names = [systems] if isinstance(systems, str) else systems
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{where}systems", systems, "a list of systems, all, or default")
    exclude = _rules(rest.pop("exclude", []), where)
    general = rest.pop("workloads", [])
    if not isinstance(general, list) or not all(isinstance(one, dict) for one in general):
        raise InputError(f"{where}workloads", general, "an array of tables, [[workloads]]")
    made = [workload(one, cores, f"{where}workloads[{index}].".__add__) for index, one in enumerate(general)]
    made += _product(rest, where, cores, needed=not general)
    seen: set[Workload] = set()
    for one in made:
        if one in seen:
            raise UsageError(f"{where}workloads: {one.name} is there twice")
        seen.add(one)
    return Study(tuple(names), tuple(made), settings, exclude, title)


def _product(rest: dict[str, Any], where: str, cores: int, *, needed: bool) -> Iterable[Workload]:
    """The workloads of the top-level lists."""
    lists: dict[str, list[Any]] = {}
    allowed = [*_LISTS, *(key for key in WORKLOAD_KEYS if key not in _LISTS.values())]
    for key, value in rest.items():
        if key not in allowed:
            names = [one.name for one in fields(Settings)]
            raise InputError(
                f"{where}key", key, ", ".join(["title", "systems", *allowed, *names, "exclude", "workloads"])
            )
        lists[key] = value if isinstance(value, list) else [value]
        if not lists[key]:
            raise InputError(where + key, "[]", "at least one value")
    if not lists and not needed:
        return
    if "patterns" not in lists:
        raise UsageError(f"{where}patterns: is missing; give a list of patterns, or [[workloads]]")
    if "widths" in lists and "tasks_per_core" in lists:
        raise UsageError(f"{where}widths and tasks_per_core: give one of the two")
    count = math.prod(len(values) for values in lists.values())
    if count > _MOST_WORKLOADS:
        raise InputError(f"{where}workloads", f"{count} of them", f"at most {_MOST_WORKLOADS}")
    for values in itertools.product(*lists.values()):
        one = {_LISTS.get(key, key): value for key, value in zip(lists, values, strict=True)}
        yield workload(one, cores, where.__add__)


def _rules(value: object, where: str) -> tuple[Mapping[str, Any], ...]:
    allowed = ["system", *(key for key in WORKLOAD_KEYS if key != "tasks_per_core")]
    if not isinstance(value, list) or not all(isinstance(one, dict) and one for one in value):
        raise InputError(f"{where}exclude", value, "a list of tables of " + ", ".join(allowed))
    for rule in value:
        for key in rule:
            if key not in allowed:
                raise InputError(f"{where}exclude: key", key, ", ".join(allowed))
    return tuple(value)
