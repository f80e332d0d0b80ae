"""The build of the system, and the machine, that a line is of: runs of two never meet in one cell.

A line is of the session whose line stands before it, and a session names the build of each system and
reference. The last build has the plain names. Cells of an earlier one are called `mpi@ab12cd34/…`, after its
hash, and those of another machine `mpi@ab12cd34.0f3a9b21/…`; those that the user had measured anew
(`--restart`) are not used. Nobody knows of which build the lines before the first session are; they are taken
to be of the build that the next session names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from taskgrain.results.lines import Attempt, CellLine, Line, OfCell, RatioLine, ReferenceLine, SessionLine
from taskgrain.study.workload import REFERENCE
from taskgrain.words.errors import UsageError

Choice = Literal["refuse", "restart", "keep"]
"""The fate of cells of another build: a refusal, a new measurement, or a place beside the new ones."""
_SIGN = "@"
"""Stands in the name of an earlier build; no system has it in its own."""
_SHOWN = 8
"""Digits of a hash in a name."""


class OtherBuilds(UsageError):
    """The error that a folder holds cells of other builds than those of a session, or of another machine."""


class Placed(NamedTuple):
    """A line under the name of its build."""

    line: Line
    used: bool = True
    """False if the user had its system measured again."""
    earlier: bool = False
    """True if it is of an earlier build than the last."""


def placed(lines: Sequence[Line]) -> list[Placed]:
    """All lines, in order."""
    starts = [index for index, line in enumerate(lines) if isinstance(line, SessionLine)]
    builds = builds_known(lines)
    newest, machines = builds[-1], _machines_known(lines)
    replaced: set[str] = set()
    found: list[Placed] = []
    end = len(lines)
    # Backwards, because what comes later decides about names.
    for start, known, machine in reversed([*zip([0, *starts], builds, machines, strict=True)]):
        moved = machine if machine != machines[-1] else None
        first = lines[start] if start < end else None
        names = {
            name: _earlier(name, build, moved)
            for name, build in known.items()
            if moved or name in replaced or build != newest[name]
        }
        found += [_placed(line, names, replaced) for line in reversed(lines[start:end])]
        if isinstance(first, SessionLine):
            replaced |= set(first.restarted)
        end = start
    return found[::-1]


def plain(system: str) -> str:
    """The name of a system or reference, without the build and the machine that an earlier one has there."""
    return system.partition(_SIGN)[0]


def elsewhere(system: str) -> bool:
    """Tells whether its name says that it was measured on another machine."""
    return "." in system.partition(_SIGN)[2]


def builds_known(lines: Sequence[Line]) -> list[dict[str, str]]:
    """The builds of systems and references before the first session, and in each of them. A session that does
    not name a system has the build of the one before, or else of the next that names it."""
    sessions = [line for line in lines if isinstance(line, SessionLine)]
    now: dict[str, str] = {}
    for one in reversed(sessions):
        now |= one.builds
    found = [now]
    for one in sessions:
        found.append({**found[-1], **one.builds})
    return found


def _machines_known(lines: Sequence[Line]) -> list[str | None]:
    """The machine before the first session, and in each of them. A session that does not name it is on that
    of the one before, or else of the next that names it."""
    sessions = [line for line in lines if isinstance(line, SessionLine)]
    found = [next((one.machine for one in sessions if one.machine), None)]
    for one in sessions:
        found.append(one.machine or found[-1])
    return found


def _earlier(name: str, build: str, machine: str | None) -> str:
    """The name of a system in an earlier build, and on another machine."""
    return f"{name}{_SIGN}{build[:_SHOWN]}{f'.{machine[:_SHOWN]}' if machine else ''}"


def _placed(line: Line, names: Mapping[str, str], replaced: set[str]) -> Placed:
    """A line under the name that its system or reference has among `names`, if it is of an earlier build."""
    if isinstance(line, RatioLine) and line.to:
        other, slash, workload = line.to.partition("/")
        line = replace(line, to=f"{names.get(other, other)}{slash}{workload}")
    if isinstance(line, ReferenceLine):
        program = line.program or REFERENCE
        if program not in names:
            return Placed(line)
        return Placed(replace(line, program=names[program]), program not in replaced, earlier=True)
    if not isinstance(line, OfCell):
        return Placed(line)
    system, slash, workload = line.cell.partition("/")
    if system not in names:
        return Placed(line)
    line = replace(line, cell=f"{names[system]}{slash}{workload}")
    if isinstance(line, CellLine):
        reference = line.reference or REFERENCE
        # Its command would measure the driver that there is now.
        line = replace(line, system=names[system], reference=names.get(reference, reference), command=None)
    return Placed(line, system not in replaced, earlier=True)


def opened(lines: Sequence[Line], session: SessionLine, choice: Choice) -> tuple[SessionLine, list[str]]:
    """The session as it goes on after these lines, and what to tell the user.

    Raises `OtherBuilds` where it has other builds than the lines, or is on another machine, and the user has
    not chosen what to do.
    """
    sessions = [line for line in lines if isinstance(line, SessionLine)]
    attempts = any(isinstance(line, Attempt) for line in lines)
    if not sessions:
        said = "the runs here are of unknown builds of the drivers: they count as of those that there are now"
        return session, [said] if attempts else []
    before: dict[str, str] = {}
    for one in sessions:
        before |= one.builds
    machine = _machines_known(lines)[-1]
    moved = machine if machine not in (None, session.machine) else None
    changed = [name for name, build in session.builds.items() if moved or before.get(name, build) != build]
    systems = {line.cell.partition("/")[0] for line in lines if isinstance(line, OfCell)}
    measured = {line.cell.partition("/")[0] for line in lines if isinstance(line, Attempt)}
    affected = [name for name in changed if name in measured]
    example = _earlier(affected[0], before.get(affected[0], ""), moved) if affected else ""
    what = _of_machine(sessions[-1], session) if moved else f"other builds of {', '.join(affected)}"
    if affected and choice == "refuse":
        env = {one.name: one.env for line in sessions for one in line.systems}
        others = [one for one in session.systems if one.name in affected and env.get(one.name) != one.env]
        why = " (with other variables of --env)" if others and not moved else ""
        raise OtherBuilds(
            f"holds results of {what}{why}; give --restart to measure these systems anew and use nothing of "
            "the earlier results, or --keep-both to measure them beside the earlier results, which are then "
            f"called {example} and so on"
        )
    notes = []
    if affected:
        fate = "are not used any more" if choice == "restart" else f"stay, as {example} and so on"
        since = f"measured before on {what}" if moved else "built again since the last call"
        notes.append(f"{since}: {', '.join(affected)}; their earlier cells {fate}")
    there = sessions[-1].host
    if measured and not moved and there and session.host and there != session.host:
        both = f"measured before on host {there}, and now on {session.host}"
        notes.append(f"{both}, a machine of the same kind")
    # Of a build that only failed there is nothing to keep.
    restarted = changed if choice == "restart" else [one for one in changed if one in systems - measured]
    return replace(session, restarted=tuple(restarted)), notes


def _of_machine(there: SessionLine, here: SessionLine) -> str:
    """The machine of a session, by how it differs from the one here."""
    for what, one, other in (("machine", there.cpu, here.cpu), ("kernel", there.kernel, here.kernel)):
        if one and other and one != other:
            return f"another {what} ({one} there, {other} here)"
    if there.hosts or here.hosts:
        names = " there, ".join(one.where or "one of unknown name" for one in (there, here))
        return f"other hosts ({names} here: their cores, caches, memory or kernel differ)"
    return f"another machine ({there.host or 'its name is not known'}: other cores, caches, memory or kernel)"
