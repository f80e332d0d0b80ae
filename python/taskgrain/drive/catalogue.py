"""The systems there are: the package's own, and those in the folders given with `--systems`.

Nothing else in the harness knows a system by name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from taskgrain import _core
from taskgrain.drive.launch.registry import present
from taskgrain.drive.system import System
from taskgrain.drive.system_file import make_setup, read
from taskgrain.words.errors import InputError, UsageError
from taskgrain.words.nearest import question


@dataclass(frozen=True)
class Group:
    """Systems that are set up together."""

    systems: tuple[str, ...]
    megabytes: int
    """The space that they take on the disk, together."""
    minutes: int
    """The time that their builds take on two cores, together."""
    install: str


def groups(systems: Iterable[System]) -> dict[str, Group]:
    """The groups in which the project's own systems are set up, by name."""
    found: dict[str, Group] = {}
    for one in systems:
        if one.group and "." not in one.name:  # a variant comes with its system
            so_far = found.get(one.group, Group((), 0, 0, make_setup(one.group)))
            found[one.group] = replace(
                so_far,
                systems=(*so_far.systems, one.name),
                megabytes=so_far.megabytes + one.megabytes,
                minutes=so_far.minutes + one.minutes,
            )
    return found


def as_dict(system: System) -> dict[str, object]:
    """A system for programs: its fields, and whether it can run here."""
    probe = system.probe()
    fields = asdict(replace(system, variants=())) | {"folder": str(system.folder)}
    fields["variants"] = [one.name for one in system.variants]
    return fields | {"available": probe.available, "missing": list(probe.missing)}


def package_folder() -> Path:
    """The folder of the built drivers, of `systems/` and `bin/`; TASKGRAIN_PREFIX names another one.

    They lie beside the extension, which a checkout keeps apart from the Python modules.
    """
    return Path(os.environ.get("TASKGRAIN_PREFIX") or Path(_core.__file__).parent)


def discover(extra: Sequence[Path] = (), package: Path | None = None) -> dict[str, System]:
    """All systems by name: the package's own, then those of `extra`, folders of systems or of one."""
    found: dict[str, System] = {}
    own = (package or package_folder()) / "systems"
    for place in (own, *extra):
        here = systems_in(place, own=place is own)
        if not here and place is not own:
            raise InputError(
                "--systems", str(place), "a folder with a system.toml, or a folder of such folders"
            )
        for system in here.values():
            _add(found, system)
    return found


def systems_in(place: Path, *, own: bool = False) -> dict[str, System]:
    """The systems, by name, of a folder of one or of several; `own` if `make setup` sets them up."""
    alone = (place / "system.toml").is_file()
    folders = [place] if alone else sorted(path.parent for path in place.glob("*/system.toml"))
    found: dict[str, System] = {}
    for folder in folders:
        main = read(folder, own=own)
        for one in (main, *main.variants):
            _add(found, one)
    return found


def _add(found: dict[str, System], one: System) -> None:
    if one.name in found and found[one.name].folder != one.folder:
        both = f"both {found[one.name].folder} and {one.folder}"
        raise UsageError(f"--systems: {one.name} is {both}; rename one of the folders")
    found[one.name] = one


def started_by(systems: Mapping[str, System], launcher: str, option: str = "--launcher") -> dict[str, System]:
    """The systems with their ranks started by a launcher; `auto` leaves each the launcher of its MPI. Raises
    `UsageError` if the launcher cannot start ranks here."""
    if launcher == "auto":
        return dict(systems)
    name = present(launcher, option).name
    return {key: replace(one, launcher=name) for key, one in systems.items()}


def unknown(
    option: str, name: object, systems: Mapping[str, System], others: Sequence[str] = ()
) -> InputError:
    """Returns the error for the name of no system; `others` are allowed, too."""
    places = sorted(
        {str(one.folder.parent) for one in systems.values()} or {str(package_folder() / "systems")}
    )
    return InputError(
        option,
        name,
        f"{', '.join(others)}{', and ' if others else ''}each system of {' and '.join(places)}. "
        "`taskgrain systems` lists them; --systems DIR adds a system of yours",
        asked=question(name, [*systems, *others]),
    )


def select(
    systems: Mapping[str, System],
    names: str | Sequence[str],
    option: str = "--system",
    named: Sequence[str] = (),
) -> list[System]:
    """The systems of `names`: a list, or `all` or `default` of those that can run here and are not simulated.

    `option` is what they are reported as, or for an unknown one its entry in `named`.
    """
    if isinstance(names, str):
        names = [names]
    chosen: dict[str, System] = {}
    for name, place in zip(names, named or [option] * len(names), strict=True):
        if name in ("all", "default"):
            fitting = [one for one in systems.values() if name == "all" or one.default]
            fitting = [one for one in fitting if not one.simulates_nodes]  # which is measured with no other
            chosen |= {one.name: one for one in fitting if one.probe().available}
        elif name in systems:
            chosen[name] = systems[name]
        else:
            raise unknown(place, name, systems, ("all", "default"))
    if not chosen:
        raise UsageError(f"{option}: no system can run here; `taskgrain systems` says what is missing")
    for one in chosen.values():
        probe = one.probe()
        if not probe.available:
            hint = f"; install: {probe.install}" if probe.install else ""
            raise UsageError(f"{option}: {one.name} cannot run here: no {', no '.join(probe.missing)}{hint}")
    return list(chosen.values())
