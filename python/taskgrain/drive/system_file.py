"""Reads a `system.toml` (docs/how-to/add-a-system.md)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from taskgrain import _core
from taskgrain.drive.environment import FAMILIES
from taskgrain.drive.launch.launch import PLACEHOLDERS, names_in
from taskgrain.drive.launch.registry import MPIS
from taskgrain.drive.system import System
from taskgrain.study import toml, variables
from taskgrain.words import numbers
from taskgrain.words.errors import InputError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_VARIANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*")
_RANKS = ("core", "node")
DEFAULT_GROUP = "default"
_LANGUAGES = {".cpp": "C++", ".go": "Go", ".py": "Python", ".rs": "Rust", ".scala": "Scala"}


def read(folder: Path, *, own: bool = False) -> System:
    """Reads `folder/system.toml`; `own` if `make setup` sets it up.

    Raises `InputError` or `UsageError` naming the file, the place in it and the key.
    """
    file = folder / "system.toml"
    name = folder.resolve().name
    if not _NAME.fullmatch(name):
        raise InputError(f"{file}: folder name", name, "letters, digits and _ . + -")
    try:
        return _system(toml.read(file, placed=False), folder, own)
    except InputError:
        return _system(toml.read(file), folder, own)  # raises it again, with line and column


def _system(document: toml.Document, folder: Path, own: bool) -> System:
    table = _Table(document, (), document.table)
    name = folder.resolve().name
    probe, launch, limits = table.table("probe"), table.table("launch"), table.table("limits")
    setup, variants = table.table("setup"), table.table("variants")
    group = setup.text("group") or DEFAULT_GROUP
    # What tools/requirements.py reads is only checked here.
    debian = setup.table("debian")
    _, _, _ = setup.texts("pypi"), setup.texts("pypi_alone"), setup.text("program")
    for package, sign in debian.items().items():
        numbers.text(sign, debian.field(package))
    install = probe.text("install") or (make_setup(group) if own else "")
    base = System(
        name=name,
        folder=Path(os.path.abspath(folder)),  # links stay: `make setup` has them lead to a new build
        title=name,
        install=install,
        group=group if own and install == make_setup(group) else "",  # what users install is in none
        megabytes=setup.count("megabytes", 0, low=0),
        minutes=setup.count("minutes", 0, low=0),
        command=("{dir}/driver",),
    )
    system = _described(base, table, probe, launch, limits)
    system = replace(system, variants=tuple(_variant(system, variants, key) for key in variants.names()))
    for part in (table, probe, launch, limits, setup, variants):
        part.done()
    return system


def _described(base: System, table: _Table, probe: _Table, launch: _Table, limits: _Table) -> System:
    """The system with the values of its tables; the others are as in `base`."""
    command = _command(launch, "command") or base.command
    sources = table.texts("sources") or base.sources
    network = table.text("network") or base.network
    ranks = launch.text("ranks", _RANKS) or base.ranks
    return replace(
        base,
        title=table.text("title") or base.title,
        paradigm=table.text("paradigm") or base.paradigm,
        parallelism=table.text("parallelism", ("explicit", "implicit")) or base.parallelism,
        # A variant with its system's network is what its system is.
        distributed=table.flag("distributed", base.distributed or (bool(network) and not base.network)),
        network=network,
        language=table.text("language") or base.language or _language(sources),
        sources=sources,
        guidance=table.texts("guidance") or base.guidance,
        constructs=table.texts("constructs") or base.constructs,
        default=table.flag("default", False),
        bound=table.flag("bound", base.bound),
        simulated=table.flag("simulated", base.simulated),
        simulation_error=table.factor("simulation_error", base.simulation_error),
        programs=probe.texts("programs") or base.programs,
        files=_words(probe, "files") or base.files,
        python=probe.texts("python") or base.python,
        command=command,
        ranks=ranks,
        workers=launch.flag("workers", base.workers),
        mpi=_mpi(launch, ranks) or base.mpi,
        env={**base.env, **_environment(launch)},
        reference=_command(launch, "reference") or base.reference,
        fresh=launch.flag("fresh", base.fresh),
        park=launch.flag("park", base.park),
        patience=launch.count("patience", base.patience),
        withholds=_withholds(launch, base.withholds),
        most_cores=limits.count("cores", 0) or base.most_cores,
        most_nodes=limits.count("nodes", 0) or base.most_nodes,
        kernels=limits.texts("kernels", _core.kernels()) or base.kernels,
        nested=limits.flag("nested", base.nested),
        other_cores=limits.flag("other_cores", base.other_cores),
        versions=table.texts("versions") or base.versions,
    )


def _language(sources: Sequence[str]) -> str:
    return _LANGUAGES.get(Path(sources[0]).suffix, "") if sources else ""


def make_setup(group: str) -> str:
    """The command that sets up the systems of a group."""
    return "make setup" if group == DEFAULT_GROUP else f"make setup GROUPS={group}"


def _words(table: _Table, key: str) -> tuple[str, ...]:
    return tuple(table.check(key, word) for word in table.texts(key))


def _command(table: _Table, key: str) -> tuple[str, ...]:
    """A list of words; the first names a program."""
    words = _words(table, key)
    if words and not words[0].strip():
        raise InputError(table.field(key, 0), words[0], "the name or the path of a program")
    return words


def _mpi(table: _Table, ranks: str) -> str:
    mpi = table.text("mpi", MPIS)
    if mpi and not ranks:
        raise InputError(table.field("mpi"), mpi, "with `ranks`, which says what a launcher starts")
    return mpi


def _environment(table: _Table) -> dict[str, str]:
    env = table.table("env")
    found = {}
    for key, word in env.items().items():
        variables.check_name(key, env.key(key))
        found[key] = env.check(key, numbers.text(word, env.field(key)))
    return found


def _withholds(launch: _Table, families: Sequence[str]) -> tuple[str, ...]:
    """The families of variables: these and those that the system `reads`, without those that it `passes`."""
    reads, passes = launch.texts("reads"), launch.texts("passes", FAMILIES)
    for n, one in enumerate(reads):
        variables.check_name(one, launch.field("reads", n))
    return tuple(one for one in (*families, *reads) if one not in passes)


def _variant(system: System, variants: _Table, name: str) -> System:
    """The same driver told by its environment to work in another way, or another build of it."""
    if not _VARIANT.fullmatch(name):
        raise InputError(variants.key(name), name, "letters, digits and _ + -")
    table = variants.table(name)
    install = table.text("install")
    base = replace(
        system,
        name=f"{system.name}.{name}",
        title=f"{system.title}, {name}",
        install=install or system.install,
        group="" if install else system.group,
    )
    variant = _described(base, table, table, table, table)
    table.done()
    return variant


class _Table:
    """Takes the known keys out of a TOML table, and complains about those left."""

    def __init__(self, document: toml.Document, at: toml.Keys, table: Mapping[str, object]) -> None:
        self._document, self._at, self._rest = document, at, dict(table)
        self._known: list[str] = []

    def field(self, *keys: str | int) -> str:
        """Returns the name that a bad value is reported as."""
        return self._document.value(*self._at, *keys)

    def key(self, key: str) -> str:
        """Returns the name that a bad key is reported as."""
        return self._document.key(*self._at, key)

    def take(self, key: str) -> object | None:
        self._known.append(key)
        return self._rest.pop(key, None)

    def text(self, key: str, allowed: Sequence[str] | None = None) -> str:
        value = self.take(key)
        return "" if value is None else numbers.text(value, self.field(key), allowed)

    def flag(self, key: str, default: bool) -> bool:
        value = self.take(key)
        return default if value is None else numbers.flag(value, self.field(key))

    def count(self, key: str, default: int, low: int = 1) -> int:
        value = self.take(key)
        return default if value is None else numbers.integer(value, self.field(key), low=low)

    def factor(self, key: str, default: float) -> float:
        value = self.take(key)
        return default if value is None else numbers.real(value, self.field(key), low=1.0)

    def texts(self, key: str, allowed: Sequence[str] | None = None) -> tuple[str, ...]:
        value = self.take(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise InputError(self.field(key), value, "a list of texts")
        return tuple(numbers.text(item, self.field(key, n), allowed) for n, item in enumerate(value))

    def table(self, key: str) -> _Table:
        value = self.take(key)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise InputError(self.field(key), value, "a table")
        return _Table(self._document, (*self._at, key), value)

    def names(self) -> list[str]:
        return list(self._rest)

    def items(self) -> Mapping[str, object]:
        rest, self._rest = self._rest, {}
        return rest

    def check(self, key: str, word: str) -> str:
        for name in names_in(word):
            if name not in PLACEHOLDERS:
                allowed = " ".join(f"{{{one}}}" for one in PLACEHOLDERS)
                raise InputError(self.field(key), f"{{{name}}}", allowed)
        return word

    def done(self) -> None:
        for key in self._rest:
            raise InputError(self.key(key), key, self._known)
