"""A study file: its systems, its workloads, and how well it measures each cell.

The lists of the top level are multiplied out, and so are those of each of `[[workloads]]`; `[defaults]` adds
what they do not say (docs/reference/study.md).
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from taskgrain._core import InvalidSpec, Run, Unsupported, dag_hash
from taskgrain.study import presets, variables
from taskgrain.study.field import Field, flag
from taskgrain.study.fields import GIVEN, PLURALS, rivals
from taskgrain.study.includes import read_study
from taskgrain.study.settings import SETTINGS, Named, Settings, take_settings
from taskgrain.study.toml import Document, Keys
from taskgrain.study.unused import with_radix
from taskgrain.study.variables import Variables
from taskgrain.study.workload import Cell, Workload, core_run
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError

MOST_CORES = 2**16
"""More than a node has: to read a study whose nodes are not known yet."""
_MOST_WORKLOADS = 10_000
WORKLOAD_KEYS = (*GIVEN, *PLURALS)
"""The keys of `[defaults]` and of a `[[workloads]]` table; the top level has them, too."""
RULE_KEYS = ("system", *(key for key in WORKLOAD_KEYS if key != "like"))
"""The keys of a table in `exclude`."""
STUDY_KEYS = tuple(
    dict.fromkeys(
        [
            *("title", "include", "systems", "env"),
            *WORKLOAD_KEYS,
            *SETTINGS,
            *("defaults", "exclude", "workloads"),
        ]
    )
)
_LISTER = "taskgrain study --schema"


def workload(table: Mapping[str, Any], cores: int, named: Named) -> Workload:
    """A workload from one value a field; `named` makes of a field what a bad value is reported as.

    `width` or `tasks_per_core`, which is multiplied by the workload's nodes and their cores, or by `cores`,
    all that a node has; one task a core if neither is there. `like` adds what a preset says, and `neighbours`
    stands for a radix that is one more.
    """
    _refuse_rivals(table, named)
    values = {key: GIVEN[key].read(value, named(key)) for key, value in table.items()}
    if "like" in values:
        values = _like(values.pop("like"), values)
    if "pattern" not in values:
        raise UsageError(f"{named('pattern')}: is missing; give the name of a pattern")
    own = values.get("cores") or cores
    if own > cores:
        raise InputError(named("cores"), own, f"1 to {cores}, what there are of a node (0: all of them)")
    asked = next((key for key in ("width", "tasks_per_core") if key in values), "")
    per_core = values.pop("tasks_per_core", 1)
    values.setdefault("width", values.get("nodes", 1) * own * per_core)
    if "neighbours" in values:
        values["radix"] = _radix(values.pop("neighbours"), values, named("neighbours"))
    if values.get("dag") and not values.get("dag_hash"):
        with contextlib.suppress(InvalidSpec):  # the core says what is wrong with it, where its graph is made
            values["dag_hash"] = dag_hash(values["dag"])
    if graph := _of_file(values["pattern"], values.get("dag", "")):
        if asked and values["width"] != graph.width():
            what = f"nothing, or width {graph.width()}, which {values['dag']} has"
            raise InputError(named(asked), table[asked], what)
        values["width"] = graph.width()
    return Workload(**values)


def check_steps(one: Workload, steps: int, named: str) -> None:
    """Raises `InputError` for other steps than the file of a DAG has; 0 leaves them to it."""
    graph = _of_file(one.pattern, one["dag"]) if steps else None
    if graph and graph.steps() != steps:
        raise InputError(named, steps, f"nothing, or {graph.steps()}, the steps that {one['dag']} has")


def _of_file(pattern: str, dag: str) -> Run | None:
    """The graph of a DAG's file; None for other patterns, and for a file of which the core says what is wrong
    with it, where its graph is made."""
    graph = {"pattern": pattern, "dag": dag, "steps": 1, "width": 1}
    try:
        return core_run([graph]) if dag else None
    except (InvalidSpec, Unsupported):
        return None


def _like(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a preset, where `given` says nothing else."""
    preset = presets.read(name)
    own = {key: GIVEN[key].read(value, f"{preset.file}: {key}") for key, value in preset.fields.items()}
    return {key: value for key, value in own.items() if not rivals(key, given)} | dict(given)


def _radix(neighbours: int, values: Mapping[str, Any], named: str) -> int:
    """The radix that gives a task so many neighbours. Raises `UsageError` where there are not so many."""
    pattern, width = values["pattern"], values["width"]
    if pattern not in with_radix():
        takers = ", ".join(with_radix())
        raise UsageError(f"{named}: pattern {pattern} has neighbours of its own; choose one of {takers}")
    if neighbours >= width:
        raise UsageError(
            f"{named}: {neighbours} need a width of at least {neighbours + 1}, and it is {width}; give a "
            "larger width, or more tasks per core"
        )
    return neighbours + 1


def _refuse_rivals(table: Mapping[str, Any], named: Named) -> None:
    for key in table:
        for other in rivals(key, table):
            shown = flag(other) if named(key).startswith("--") else other
            raise UsageError(f"{named(key)}: give this or {shown}, not both")


@dataclass(frozen=True)
class Study:
    """A description of the measurement. `cells` has the order of its workloads, systems within each."""

    systems: tuple[str, ...]
    workloads: tuple[Workload, ...]
    settings: Settings = field(default_factory=Settings)
    exclude: tuple[Mapping[str, Sequence[Any]], ...] = ()
    title: str = ""
    env: tuple[Variables, ...] = ({},)
    """Environment variables for the systems: each is measured with each of these."""
    named: Mapping[Workload, Named] = field(default_factory=dict, compare=False, repr=False)
    """The function that turns a field of a workload of a file into the name that errors give it."""
    systems_named: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The name that each of `systems` is reported as."""
    settings_named: Named = field(default=str, compare=False, repr=False)
    """A function that makes of a setting the name that a bad value is reported as."""
    cores: int = field(default=1, compare=False)
    """The cores of a node for the workloads that say none."""
    only_nodes: int = field(default=0, compare=False)
    """The number of nodes of the cells that are measured now; 0: whatever number."""
    only: Collection[tuple[str, str]] = field(default=(), compare=False)
    """System and workload of the cells that are measured now; empty: of all."""

    def cells(self, systems: Sequence[str]) -> list[Cell]:
        """Every system on every workload, with each of `env`, except for excluded cells."""
        return [
            Cell(system + variables.suffix(env), one)
            for one in self.workloads
            for system in systems
            for env in self.env
            if not self.only or (system + variables.suffix(env), one.name) in self.only
            if not any(self._matches(rule, system, variables.suffix(env), one) for rule in self.exclude)
        ]

    def _matches(
        self, rule: Mapping[str, Sequence[Any]], system: str, setting: str, workload: Workload
    ) -> bool:
        own: dict[str, set[Any]] = {key: {value} for key, value in workload.fields().items()}
        own["system"] = {system, system + setting}
        own["cores"].add(workload.cores or self.cores)
        own["tasks_per_core"] = {workload.width / workload.cores_of_all(self.cores)}
        own["neighbours"] = {workload["radix"] - 1}
        return all(not own[key].isdisjoint(values) for key, values in rule.items())

    def complaint(self, workload: Workload, words: str) -> str:
        """Returns what the core says of a workload, `field: …`, with the field's place."""
        name, _, rest = words.partition(": ")
        named = self.named.get(workload)
        if name in SETTINGS:
            return f"{self.settings_named(name)}: {rest} (in {workload.name})"
        if named is None:
            return f"{workload.name}: {words}"
        if name in WORKLOAD_KEYS:
            return f"{named(name)}: {rest} (in {workload.name})"
        return f"{named('')}: {words} (in {workload.name})"

    def table(self, systems: Sequence[str], cores: int) -> dict[str, Any]:
        """`study.toml` with all defaults written out and the systems and cores as they are here."""
        settings = asdict(self.settings) | {"cores": cores}
        rules = [
            {key: values[0] if len(values) == 1 else list(values) for key, values in rule.items()}
            for rule in self.exclude
        ]
        return {
            **({"title": self.title} if self.title else {}),
            "systems": list(systems),
            **({} if self.env == ({},) else {"env": [dict(one) for one in self.env]}),
            **settings,
            **({"exclude": rules} if rules else {}),
            "workloads": [one.fields() for one in self.workloads],
        }


def read(file: Path, cores: int, known: Collection[str] | None = None) -> Study:
    """A study from its TOML file; `tasks_per_core` is multiplied by `cores` unless the file has its own.

    `known` are the systems that it may exclude, if that shall be checked.
    """
    return parse(read_study(file), cores, known)


def parse(given: Document, cores: int, known: Collection[str] | None = None) -> Study:
    """A study from its table. Raises `InputError` or `UsageError` that say where in which file."""
    rest = dict(given.table)
    for key in rest:
        if key not in STUDY_KEYS:
            raise InputError(given.key(key), key, STUDY_KEYS, _LISTER)
    title = numbers.text(rest.pop("title", ""), given.value("title"))
    swept = _take_cores(rest, given)
    if isinstance(rest.get("hostfile"), str) and rest["hostfile"].isprintable():  # else refused as given
        rest["hostfile"] = _placed(SETTINGS["hostfile"], rest["hostfile"], ("hostfile",), given)
    settings = take_settings(rest, given.value)
    cores = settings.cores or cores
    systems = rest.pop("systems", "default")
    listed = isinstance(systems, list)
    names = systems if listed else [systems]
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(given.value("systems"), systems, "a list of systems, all, or default")
    env = variables.of_study(rest.pop("env", {}), given)
    rules = _tables(rest.pop("exclude", []), "exclude", RULE_KEYS, given)
    ends = [variables.suffix(each) for each in env]
    for one in (system for rule in rules for system in rule.get("system", ())):
        if known is not None and not any(one.value in (name, name + end) for name in known for end in ends):
            raise InputError(given.value(*one.keys), one.value, list(known), "taskgrain systems")
    products = _products(rest, swept, given)
    count = sum(math.prod(map(len, one.values())) for _, one in products)
    if count > _MOST_WORKLOADS:
        raise InputError(given.value("workloads"), f"{count} of them", f"at most {_MOST_WORKLOADS}")
    made: dict[Workload, Named] = {}
    taken: set[str] = set()
    for at, lists in products:
        for chosen in itertools.product(*lists.values()):
            values = dict(zip(lists, chosen, strict=True))
            if "cores" in values and values["cores"].value == 0 and len(lists["cores"]) > 1:
                raise InputError(given.value(*values["cores"].keys), 0, "1 or more")
            named = partial(_named, given, at, {key: one.keys for key, one in values.items()})
            new = workload({key: one.value for key, one in values.items()}, cores, named)
            if new in made:
                raise UsageError(f"{_repeated(lists, given) or named('')}: {new.name} is there twice")
            if new.name in taken:  # the name of a cell has a file's name without its folder
                raise UsageError(f"{named('')}: {new.name} names two workloads; rename one of the files")
            made[new] = named
            taken.add(new.name)
    exclude = tuple({key: [one.value for one in values] for key, values in rule.items()} for rule in rules)
    systems_named = tuple(given.value("systems", *([n] if listed else [])) for n in range(len(names)))
    named_as = (made, systems_named, given.value)
    return Study(tuple(names), tuple(made), settings, exclude, title, env, *named_as, cores)


@dataclass(frozen=True)
class _Value:
    """A checked value of a field, and where it stands."""

    value: Any
    keys: Keys


_Lists = dict[str, list[_Value]]
"""The fields of a table; one value is a list of one."""


def _repeated(lists: _Lists, given: Document) -> str:
    """The place where a list has a value that it had before; empty if none has."""
    for values in lists.values():
        for place, one in enumerate(values):
            if one.value in [earlier.value for earlier in values[:place]]:
                return given.value(*one.keys)
    return ""


def _take_cores(rest: dict[str, Any], given: Document) -> _Lists:
    """Takes a list of `cores` of the top level, for every workload: the largest of them is the study's.

    One number there is a setting, which is left in `rest`.
    """
    if not isinstance(rest.get("cores"), list):
        return {}
    found = _lists({"cores": rest.pop("cores")}, (), WORKLOAD_KEYS, given)
    counts = [one.value for one in found["cores"]]
    rest["cores"] = max(counts)
    return found


def _products(rest: dict[str, Any], shared: _Lists, given: Document) -> list[tuple[Keys, _Lists]]:
    """Returns the lists to multiply out: each of `[[workloads]]`, then the lists of the top level, with
    `[defaults]` and the fields `shared` by all."""
    tables = _tables(rest.pop("workloads", []), "workloads", WORKLOAD_KEYS, given)
    defaults = shared | _lists(rest.pop("defaults", {}), ("defaults",), WORKLOAD_KEYS, given)
    products: list[tuple[Keys, _Lists]] = [(("workloads", n), one) for n, one in enumerate(tables)]
    if rest or not tables:
        top = _lists(rest, (), WORKLOAD_KEYS, given)
        if not {"pattern", "like"} & (top | defaults).keys():
            if tables:
                raise UsageError(
                    f"{given.value(next(iter(rest)))}: needs `patterns` beside it;"
                    " for all [[workloads]] put it into [defaults]"
                )
            raise UsageError(
                f"{given.value('patterns')}: is missing; give a list of patterns, or [[workloads]]"
            )
        products.append(((), top))
    return [
        (at, own | {key: one for key, one in defaults.items() if key not in own and not rivals(key, own)})
        for at, own in products
    ]


def _tables(value: object, key: str, allowed: Sequence[str], given: Document) -> list[_Lists]:
    if not isinstance(value, list):
        raise InputError(given.value(key), value, f"an array of tables, [[{key}]]")
    if key == "exclude" and {} in value:  # it would exclude everything
        raise InputError(given.value(key, value.index({})), "{}", "at least one of " + ", ".join(allowed))
    return [_lists(one, (key, index), allowed, given) for index, one in enumerate(value)]


def _lists(table: object, at: Keys, allowed: Sequence[str], given: Document) -> _Lists:
    """The checked fields of a table."""
    if not isinstance(table, dict):
        raise InputError(given.value(*at), table, "a table of " + ", ".join(allowed))
    found: _Lists = {}
    for key, value in table.items():
        if key in STUDY_KEYS and key not in allowed and at[:1] != ("exclude",):
            tables = {"defaults": "[defaults]", "workloads": "the first [[workloads]]"}
            above = " and ".join(tables[one] for one in tables if one in given.table)
            raise UsageError(f"{given.key(*at, key)}: {key} is a setting of the study: it goes above {above}")
        if key not in allowed:
            raise InputError(given.key(*at, key), key, allowed, _LISTER)
        if value == []:
            raise InputError(given.value(*at, key), "[]", "at least one value")
        name = str(PLURALS.get(key, key))
        read = GIVEN[name].read if name in GIVEN else numbers.text  # `system` in a rule
        many = isinstance(value, list)
        places: list[Keys] = [(*at, key, n) for n in range(len(value))] if many else [(*at, key)]
        found[name] = [
            _Value(_placed(GIVEN.get(name), read(one, given.value(*keys)), keys, given), keys)
            for one, keys in zip(value if many else [value], places, strict=True)
        ]
    _refuse_rivals(table, lambda key: given.value(*at, key))
    return found


def _placed(field: Field | None, value: Any, keys: Keys, given: Document) -> Any:
    """The value; the name of a file is relative to the file that says it."""
    file = given.file_of(*keys)
    return str((file.parent / value).absolute()) if field and field.is_file and value and file else value


def _named(given: Document, at: Keys, places: Mapping[str, Keys], name: str) -> str:
    """Returns the name that a field of a workload is reported as; the whole of it for an empty name."""
    own = (*at, name) if name else at or ("patterns",)
    return given.value(*places.get(name, own))
