"""A system: a folder whose `system.toml` says what it is, whether it can run here, and how to launch it.

Systems are found in the package's own `systems/` and in the folders given with `--systems`; nothing else in
the harness knows one by name.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from taskgrain import _core
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
# Only words are placeholders, so that a command may hold JSON and other braces.
_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")
DEFAULT_GROUP = "default"
REFERENCE = "taskgrain-reference"
"""The program that measures the kernel alone on the cores."""
_PLACEHOLDERS = ("dir", "cores", "nodes", "places", "python")


@dataclass(frozen=True)
class Launch:
    """A command that starts one driver."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    """Set on top of the harness's environment."""
    cores: tuple[int, ...]
    """The processors that the driver shall use, worker by worker."""
    park: bool = True
    """Whether the idle driver may be stopped (SIGSTOP)."""
    simulated: bool = False
    """Whether its seconds are those of a simulation and may be more than have passed."""
    patience: int = 1
    """How many times longer than for others an answer is waited for."""


@dataclass(frozen=True)
class Probe:
    """Whether a system can run here; `missing` says what is not there."""

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
    default: bool = False
    simulated: bool = False
    """Its seconds are those of a simulation, not of this machine."""
    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    install: str = ""
    group: str = ""
    """What `make setup GROUPS=…` calls those that are set up together; empty for those of `--systems`."""
    megabytes: int = 0
    """What its set-up takes on the disk."""
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    reference: tuple[str, ...] = ()
    """The command that measures the kernel alone where the system runs it, if that is not on the cores."""
    park: bool = True
    """False for runtimes whose heartbeats time out when an idle driver is stopped."""
    patience: int = 1
    """More than 1 for runtimes that take milliseconds a task, or minutes to start: multiplies time limits."""
    most_cores: int | None = None
    patterns: tuple[str, ...] = ()
    variants: tuple[System, ...] = ()
    """Other ways to work, or other builds of the driver, each a system of its own, `name.variant`."""

    def probe(self) -> Probe:
        """Looks for what the system needs; starts nothing."""
        missing = [f"program {name}" for name in self.programs if shutil.which(name) is None]
        for name in self.files:
            path = Path(self._fill(name, ()))
            if not path.exists():
                built = path.is_relative_to(self.folder)  # others are the machine's
                missing.append(f"file {path}" + (" (not built)" if built else ""))
        missing += [f"Python module {name}" for name in self.python if not _importable(name)]
        return Probe(tuple(missing), self.install)

    @property
    def reference_name(self) -> str:
        """What the program is called that efficiency is measured against."""
        return Path(self.reference[0]).name if self.reference else REFERENCE

    def cores_of(self, cores: Sequence[int]) -> tuple[int, ...]:
        """The part of `cores` that the system can use."""
        return tuple(cores[: self.most_cores])

    @property
    def options(self) -> str:
        """The flags by which a command finds the system: the project's own need no `--systems`."""
        folder = "" if self.group else f"--systems {shlex.quote(str(self.folder))} "
        return f"{folder}--system {self.name}"

    def runs(self, pattern: str) -> bool:
        return not self.patterns or pattern in self.patterns

    def launch(self, cores: Sequence[int]) -> Launch:
        """The command that starts the driver on (the first it can use of) the processors `cores`."""
        used = self.cores_of(cores)
        return Launch(
            command=tuple(self._fill(word, used) for word in self.command),
            env={key: self._fill(word, used) for key, word in self.env.items()},
            cores=used,
            park=self.park,
            simulated=self.simulated,
            patience=self.patience,
        )

    def reference_launch(self, cores: Sequence[int]) -> Launch:
        """The command that starts `reference`."""
        return Launch(tuple(self._fill(word, cores) for word in self.reference), {}, tuple(cores))

    def _fill(self, word: str, cores: Sequence[int]) -> str:
        values = {
            "dir": str(self.folder),
            "cores": str(len(cores)),
            "nodes": "1",
            "places": ",".join(f"{{{core}}}" for core in cores),
            "python": sys.executable,
        }
        return _PLACEHOLDER.sub(lambda match: values[match[1]], word)


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


class _Table:
    """Takes the known keys out of a TOML table, and complains about those left."""

    def __init__(self, file: Path, prefix: str, table: Mapping[str, object]) -> None:
        self._file, self._prefix, self._rest = file, prefix, dict(table)
        self._known: list[str] = []

    def field(self, key: str) -> str:
        return f"{self._file}: {self._prefix}{key}"

    def take(self, key: str) -> object | None:
        self._known.append(key)
        return self._rest.pop(key, None)

    def text(self, key: str, allowed: Sequence[str] | None = None) -> str:
        value = self.take(key)
        return "" if value is None else numbers.text(value, self.field(key), allowed)

    def flag(self, key: str, default: bool) -> bool:
        value = self.take(key)
        return default if value is None else numbers.flag(value, self.field(key))

    def count(self, key: str, default: int) -> int:
        value = self.take(key)
        return default if value is None else numbers.integer(value, self.field(key), low=1)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.take(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise InputError(self.field(key), value, "a list of texts")
        return tuple(numbers.text(item, self.field(key)) for item in value)

    def table(self, key: str) -> _Table:
        value = self.take(key)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise InputError(self.field(key), value, "a table")
        return _Table(self._file, f"{self._prefix}{key}.", value)

    def names(self) -> list[str]:
        return list(self._rest)

    def items(self) -> Mapping[str, object]:
        rest, self._rest = self._rest, {}
        return rest

    def check(self, key: str, word: str) -> str:
        for name in _PLACEHOLDER.findall(word):
            if name not in _PLACEHOLDERS:
                allowed = " ".join(f"{{{one}}}" for one in _PLACEHOLDERS)
                raise InputError(self.field(key), f"{{{name}}}", allowed)
        return word

    def done(self) -> None:
        for key in self._rest:
            raise InputError(f"{self._file}: key", self._prefix + key, ", ".join(self._known))


def read(folder: Path, *, own: bool = False) -> System:
    """Reads `folder/system.toml`; `own` if `make setup` sets it up.

    Raises `InputError` or `UsageError` naming the file and the key.
    """
    file = folder / "system.toml"
    try:
        table = _Table(file, "", tomllib.loads(file.read_text("utf-8")))
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: is not TOML: {error}") from None
    name = folder.resolve().name
    if not _NAME.fullmatch(name):
        raise InputError(f"{file}: folder name", name, "letters, digits and _ . + -")
    probe, launch, limits = table.table("probe"), table.table("launch"), table.table("limits")
    setup, variants = table.table("setup"), table.table("variants")
    command = _words(launch, "command")
    if not command:
        raise InputError(launch.field("command"), "nothing", "the driver's command, a list of texts")
    group = setup.text("group") or DEFAULT_GROUP
    # What tools/requirements.py reads is only checked here.
    debian = setup.table("debian")
    _, _, _ = setup.texts("pypi"), setup.texts("pypi_alone"), setup.text("program")
    for package, sign in debian.items().items():
        numbers.text(sign, debian.field(package))
    most_cores = limits.take("cores")
    system = System(
        name=name,
        folder=folder.resolve(),
        title=table.text("title") or name,
        paradigm=table.text("paradigm"),
        parallelism=table.text("parallelism", ("explicit", "implicit")),
        distributed=table.flag("distributed", False),
        network=table.text("network"),
        language=table.text("language"),
        sources=table.texts("sources"),
        guidance=table.texts("guidance"),
        default=table.flag("default", False),
        simulated=table.flag("simulated", False),
        programs=probe.texts("programs"),
        files=_words(probe, "files"),
        python=probe.texts("python"),
        install=probe.text("install") or (make_setup(group) if own else ""),
        group=group if own else "",
        megabytes=numbers.integer(setup.take("megabytes") or 0, setup.field("megabytes")),
        command=command,
        env=_environment(launch),
        reference=_words(launch, "reference"),
        park=launch.flag("park", True),
        patience=launch.count("patience", 1),
        most_cores=None if most_cores is None else numbers.integer(most_cores, limits.field("cores"), low=1),
        patterns=limits.texts("patterns"),
    )
    system = replace(system, variants=tuple(_variant(system, variants, key) for key in variants.names()))
    for part in (table, probe, launch, limits, setup, variants):
        part.done()
    return system


@dataclass(frozen=True)
class Group:
    """Systems that are set up together."""

    systems: tuple[str, ...]
    megabytes: int
    """What they take on the disk, together."""
    install: str


def groups(systems: Iterable[System]) -> dict[str, Group]:
    """The groups in which the project's own systems are set up, by name."""
    found: dict[str, Group] = {}
    for one in systems:
        if one.group and "." not in one.name:  # a variant comes with its system
            so_far = found.get(one.group, Group((), 0, make_setup(one.group)))
            found[one.group] = replace(
                so_far, systems=(*so_far.systems, one.name), megabytes=so_far.megabytes + one.megabytes
            )
    return found


def make_setup(group: str) -> str:
    """The command that sets up the systems of a group."""
    return "make setup" if group == DEFAULT_GROUP else f"make setup GROUPS={group}"


def _words(table: _Table, key: str) -> tuple[str, ...]:
    return tuple(table.check(key, word) for word in table.texts(key))


def _environment(table: _Table) -> dict[str, str]:
    env = table.table("env")
    return {key: env.check(key, numbers.text(word, env.field(key))) for key, word in env.items().items()}


def _variant(system: System, variants: _Table, name: str) -> System:
    """The same driver told by its environment to work in another way, or another build of it."""
    if not _NAME.fullmatch(name):
        raise InputError(variants.field("name"), name, "letters, digits and _ . + -")
    table = variants.table(name)
    most_cores = table.take("cores")
    variant = replace(
        system,
        name=f"{system.name}.{name}",
        title=table.text("title") or f"{system.title}, {name}",
        default=table.flag("default", False),
        programs=table.texts("programs") or system.programs,
        files=_words(table, "files") or system.files,
        command=_words(table, "command") or system.command,
        env={**system.env, **_environment(table)},
        most_cores=system.most_cores
        if most_cores is None
        else numbers.integer(most_cores, table.field("cores"), low=1),
    )
    table.done()
    return variant


def as_dict(system: System) -> dict[str, object]:
    """A system for programs: its fields, and whether it can run here."""
    probe = system.probe()
    fields = asdict(replace(system, variants=())) | {"folder": str(system.folder)}
    fields["variants"] = [one.name for one in system.variants]
    return fields | {"available": probe.available, "missing": list(probe.missing)}


def package_folder() -> Path:
    """Where the built drivers, `systems/`, and `bin/` lie; TASKGRAIN_PREFIX names another place.

    They lie beside the extension, which an editable installation keeps apart from the Python modules.
    """
    return Path(os.environ.get("TASKGRAIN_PREFIX") or Path(_core.__file__).parent)


def discover(extra: Sequence[Path] = (), package: Path | None = None) -> dict[str, System]:
    """All systems by name: the package's own, then those of `extra`, folders of systems or of one."""
    found: dict[str, System] = {}
    own = (package or package_folder()) / "systems"
    for place in [*([own] if own.is_dir() else []), *extra]:
        if not place.is_dir():
            raise InputError(
                "--systems", str(place), "a folder with a system.toml, or a folder of such folders"
            )
        if (place / "system.toml").is_file():
            folders = [place]
        else:
            folders = sorted(path.parent for path in place.glob("*/system.toml"))
        if not folders and place is not own:
            raise InputError(
                "--systems", str(place), "a folder with a system.toml, or a folder of such folders"
            )
        for folder in folders:
            main = read(folder, own=place is own)
            for system in (main, *main.variants):
                if system.name in found and found[system.name].folder != system.folder:
                    raise UsageError(
                        f"--systems: {system.name} is both {found[system.name].folder} and {system.folder}; "
                        "rename one of the folders"
                    )
                found[system.name] = system
    return found


def select(
    systems: Mapping[str, System],
    names: str | Sequence[str],
    option: str = "--system",
    named: Sequence[str] = (),
) -> list[System]:
    """The systems of `names`: a list, or `all` or `default` of those that can run here.

    `option` is what they are reported as, or for an unknown one its entry in `named`.
    """
    if isinstance(names, str):
        names = [names]
    chosen: dict[str, System] = {}
    for name, place in zip(names, named or [option] * len(names), strict=True):
        if name in ("all", "default"):
            fitting = [one for one in systems.values() if name == "all" or one.default]
            chosen |= {one.name: one for one in fitting if one.probe().available}
        elif name in systems:
            chosen[name] = systems[name]
        else:
            raise InputError(place, name, ", ".join([*systems, "all", "default"]))
    if not chosen:
        raise UsageError(f"{option}: no system can run here; `taskgrain systems` says what is missing")
    for one in chosen.values():
        probe = one.probe()
        if not probe.available:
            hint = f"; install: {probe.install}" if probe.install else ""
            raise UsageError(f"{option}: {one.name} cannot run here: no {', no '.join(probe.missing)}{hint}")
    return list(chosen.values())
