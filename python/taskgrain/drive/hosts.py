"""The other hosts of a run on several: an agent on each, started as ranks are, and asked as a driver is."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from taskgrain.drive.answers import DriverError, OutOfTime, Peak
from taskgrain.drive.answers import peak as checked_peak
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.launch.launcher import Node
from taskgrain.drive.session import Session
from taskgrain.machine.busy import Busy

_AGENT_SECONDS = 30.0
"""The time that an agent may take for an answer, besides what it measures."""
_GRACE_SECONDS = 2.0
"""The time that it has when the time for everything is up, or to end what runs on its host: that it does by
itself, too, when it is left alone."""
_Answer = dict[str, Any]


class Hosts:
    """This host, and others. A context manager: at its end no agent is left, nor what an agent knows of."""

    def __init__(self, names: Sequence[str], cores: Sequence[int], launch: Callable[[str], Launch]) -> None:
        """Lets this host, the first of `names`, measure on `cores`; `launch` starts the agent of another."""
        self.names = tuple(names)
        self._cores = {socket.gethostname(): tuple(cores)}
        """The processors that are measured on, by the hosts' own names; of all after `facts`."""
        self._launch = launch
        self.time_left: Callable[[], float] = lambda: math.inf
        """Seconds from now until whatever is under way has to stop."""
        self._agents: dict[str, Session] = {}
        self._threads = {name: ThreadPoolExecutor(1) for name in self.names[1:]}
        self._silent: set[str] = set()
        """The hosts whose agent has not answered in time: nobody asks them to end what may run there."""
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._closed = True  # an answer that is waited for does not come any more
        for thread in self._threads.values():
            thread.shutdown(cancel_futures=True)
        for name, agent in self._agents.items():
            if name in self._silent:
                agent.kill()
            agent.__exit__(kind, error, trace)

    def facts(self) -> dict[str, Mapping[str, Any]]:
        """Returns the facts that the agents tell of their hosts, by name. Raises `DriverError` if one cannot
        be reached, or `OutOfTime`, as all others here do except `kill`."""
        found = self._all(len(self.names), {"op": "facts"}, "facts")
        named = dict(zip(self.names[1:], found, strict=True))
        self._cores |= {one["facts"]["host"]: tuple(one["cores"]) for one in found}
        return {name: one["facts"] for name, one in named.items()}

    def nodes(self, number: int, cores: int) -> tuple[Node, ...]:
        """The first hosts, with so many of their processors; none if it is this host alone. After `facts`."""
        if number <= 1:
            return ()
        named = zip(self.names, self._cores.items(), strict=True)
        return tuple(Node(name, host, own[:cores]) for name, (host, own) in named)[:number]

    def go_on(self, mark: str, nodes: int, cores: int) -> None:
        """Lets the ranks of a driver run, by its tree's `mark`, and begins to watch what disturbs them."""
        self._all(nodes, {"op": "go_on", "mark": mark, "cores": cores}, "done")

    def busy(self, mark: str, nodes: int) -> dict[str, Busy]:
        """Returns what disturbed the ranks of a driver since `go_on`, by host."""
        found = self._all(nodes, {"op": "busy", "mark": mark}, "busy")
        return {name: Busy(**one["busy"]) for name, one in zip(self.names[1:], found, strict=False)}

    def stop(self, mark: str, nodes: int) -> None:
        """Takes the ranks of a driver off the cores."""
        self._all(nodes, {"op": "stop", "mark": mark}, "done")

    def kill(self, mark: str, nodes: int) -> None:
        """Kills the ranks of a driver on those of the hosts that answer soon."""
        begun = self._each(nodes, {"op": "kill", "mark": mark}, "done", but=set(self._silent))
        end = time.monotonic() + _GRACE_SECONDS
        for name, one in begun.items():
            try:
                one.exception(max(0.0, end - time.monotonic()))
            except TimeoutError:
                self._silent.add(name)

    def peak(
        self, nodes: int, request: Mapping[str, object], cores: int, seconds: float
    ) -> Callable[[], list[Peak]]:
        """Begins to measure the kernel alone; the returned function waits for the rates of each host."""
        asked = {**request, "op": "peak", "id": 0, "cores": cores, "seconds": seconds}
        begun = self._each(nodes, asked, "peak", seconds)
        return lambda: [checked_peak(one.result(), 0, cores) for one in begun.values()]

    def _all(self, nodes: int, request: Mapping[str, object], event: str) -> list[_Answer]:
        return [one.result() for one in self._each(nodes, request, event).values()]

    def _each(
        self,
        nodes: int,
        request: Mapping[str, object],
        event: str,
        seconds: float = 0.0,
        but: Collection[str] = (),
    ) -> dict[str, Future[_Answer]]:
        """Asks the agents of the first `nodes` hosts, all at once."""
        names = [one for one in self.names[1:nodes] if one not in but]
        return {one: self._threads[one].submit(self._ask, one, request, event, seconds) for one in names}

    def _ask(self, name: str, request: Mapping[str, object], event: str, seconds: float) -> _Answer:
        try:
            agent = self._agents.get(name)
            if agent is None:
                agent = Session(f"agent on {name}", self._launch(name))
                agent.time_left = lambda: 0.0 if self._closed else self.time_left() + _GRACE_SECONDS
                self._agents[name] = agent
            if not agent.alive:
                agent.start()
            answer = agent.ask(request, event, None, _AGENT_SECONDS + seconds)
            self._silent.discard(name)
            return answer
        except OutOfTime:
            self._silent.add(name)
            why = f"host {name} had not answered when the budget ended; in more time its launcher says why"
            raise OutOfTime(why) from None
        except DriverError as error:
            if error.kind == "timeout":
                self._silent.add(name)
            raise DriverError("system", f"host {name}: {error.message}", error.log_tail) from None


class ReferenceOnHosts(Session):
    """The kernel alone on several hosts at once."""

    def __init__(self, name: str, launch: Launch, log: Path | None, hosts: Hosts, nodes: int) -> None:
        """`launch` starts the reference of this host."""
        super().__init__(name, launch, log)
        self._others, self._nodes = hosts, nodes

    def peak(self, kernel: Mapping[str, object], seconds: float, isa: str = "auto") -> Peak:
        """The rates of the cores of one host after those of another."""
        asked = {"kernel": dict(kernel), "isa": isa}
        others = self._others.peak(self._nodes, asked, len(self.launch.cores), seconds)
        own = super().peak(kernel, seconds, isa)
        return replace(own, rates=own.rates + tuple(rate for one in others() for rate in one.rates))
