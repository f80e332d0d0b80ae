"""The hosts of a measurement on several, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from taskgrain.results.lines import Host, Line, SessionLine
from taskgrain.words import quantity

_LONGEST = 40
"""Characters of names that are all shown."""


def of_lines(lines: Iterable[Line]) -> tuple[Host, ...]:
    """Returns the hosts of all sessions, each once; none if each was on one host."""
    return tuple(dict.fromkeys(one for line in lines if isinstance(line, SessionLine) for one in line.hosts))


def named(hosts: Sequence[Host]) -> str:
    """The names of the hosts; of many, the first ones."""
    names = [str(one.host) for one in hosts]
    every, more = ", ".join(names), len(names) - 1
    return every if len(every) <= _LONGEST or not more else f"{len(names)} hosts, {names[0]} and {more} more"


def where(hosts: Sequence[Host]) -> str:
    """`on` which hosts, with what differs between them; empty if they are not several."""
    odd = "; ".join(differences(hosts))
    return f"on {named(hosts)}{f' ({odd})' if odd else ''}" if hosts else ""


def differences(hosts: Sequence[Host]) -> Iterator[str]:
    """A line for each host that is not as the first, with what differs."""

    def told(one: Host) -> dict[str, str]:
        known = {"processor": one.cpu, "cores": one.cores, "memory": quantity.size(one.memory_bytes)}
        known |= {"kernel": one.kernel, "governor": one.governor}
        return {key: str(value) for key, value in known.items()}

    for one in hosts[1:]:
        first, other = told(hosts[0]), told(one)
        odd = [
            f"{key} {value} ({hosts[0].host}: {first[key]})"
            for key, value in other.items()
            if value != first[key]
        ]
        if not odd and one.machine != hosts[0].machine:
            odd = [f"its sockets or caches are not as those of {hosts[0].host}"]
        if odd:
            yield f"host {one.host}: {', '.join(odd)}"
