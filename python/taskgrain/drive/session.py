"""The harness's side of one driver: started once, asked many times, parked between, never left behind.

What disturbs a request is read while the driver is parked: its threads may spin, and would compete with that.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from taskgrain.drive import answers, output
from taskgrain.drive.answers import Disturbed, DriverError, OutOfTime, Peak, Ready, RunResult
from taskgrain.drive.environment import passed
from taskgrain.drive.fault import Books
from taskgrain.drive.launch.launch import Launch
from taskgrain.drive.output import DriverLog
from taskgrain.drive.process_tree import Tree, spawn
from taskgrain.machine.busy import Busy, BusyWatch, busiest
from taskgrain.machine.memory import MemoryWatch
from taskgrain.machine.processes import runs
from taskgrain.machine.restrictions import restrictions
from taskgrain.machine.topology import for_hwloc
from taskgrain.words.errors import InputError

if TYPE_CHECKING:
    from taskgrain.drive.hosts import Hosts  # which stands on this

T = TypeVar("T")
START_SECONDS = 60.0
"""The time that a driver has to answer `hello`."""
RUN_SECONDS = 120.0
"""The time that a run has if nothing is known about its duration."""
QUIT_SECONDS = 2.0
"""The time that a driver has to quit before it is killed."""
_LOOK_SECONDS = 0.1
"""The time between two looks at a driver that has not answered yet; runs are mostly shorter."""
_SUPERVISOR_SECONDS = 60.0
"""The time that a supervisor has, on a busy machine, to say how a driver ended whose processes are gone."""
_LOG_SECONDS = 0.05
"""The wait for what a living driver printed before it answered: it may come later, by the other stream."""
_LOOK_SHARE = 0.005
"""The share of the time that this may take, as it takes a core from what is measured."""
_LONGEST_LOOK = 0.3
"""Seconds between two looks all the same: much memory can be eaten in them."""


class Session:
    """One driver. A context manager: what was started is gone at the end.

    Every request raises `DriverError`, or `OutOfTime`, and so does `start`. After `OutOfTime`, and after
    `crash`, `timeout`, `memory` and `protocol`, the driver has been killed, and `start` may be called again;
    after the other kinds it goes on serving.
    """

    def __init__(
        self,
        name: str,
        launch: Launch,
        log: Path | None = None,
        *,
        start_seconds: float = START_SECONDS,
        run_seconds: float = RUN_SECONDS,
        memory_bytes: int | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        """`hosts` that a launch on several nodes needs. `memory_bytes` that the driver's processes may hold
        together; None: `MemoryWatch` chooses."""
        self.name = name
        self.launch = launch
        self.ready: Ready | None = None
        self.busy = Busy()
        """The disturbance of the last request."""
        self.time_left: Callable[[], float] = lambda: math.inf
        """Seconds from now until whatever is under way has to stop."""
        self._hosts = hosts if launch.on else None
        self._log = DriverLog(log)
        self._start_seconds = launch.patience * start_seconds
        self._run_seconds = launch.patience * run_seconds
        self._simulated_seconds = self._passed_seconds = 0.0
        """The seconds of all answers, and those until they came: together the pace of a simulation."""
        self._simulated: dict[str, RunResult] = {}
        """The answers by request: a simulation would take its time again, to say the same."""
        self._memory_bytes = memory_bytes
        self._memory: MemoryWatch
        self._tree: Tree | None = None
        self._answers = output.answers()
        self._readers: list[output.Reader] = []
        self._number = 0
        self.parked = False
        self._quit_until: float | None = None  # by the clock; once it is asked to

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.close()
        else:  # an interrupt, say: no time to ask
            self.kill()
            self._log.close()

    @property
    def alive(self) -> bool:
        return self._tree is not None

    def pids(self) -> list[int]:
        """The driver's processes, all of them, without the supervisor."""
        tree = self._tree  # another thread may kill the driver meanwhile
        return tree.pids() if tree is not None else []

    @property
    def scratch(self) -> str:
        """The folder of the driver's temporary files, which goes with it. Empty if there is no driver."""
        return self._tree.scratch if self._tree is not None else ""

    def start(self) -> Ready:
        """Starts the driver (again) and returns its description of itself."""
        self.kill()
        if self.launch.refused:
            raise DriverError("unsupported", self.launch.refused)
        self._memory = MemoryWatch(self._memory_bytes)
        environment = passed(os.environ, self.launch.withholds) | for_hwloc() | dict(self.launch.env)
        environment["TASKGRAIN_CORES"] = ",".join(map(str, self.launch.cores))
        self._log.note("start: " + " ".join(self.launch.command))
        try:
            self._tree = tree = spawn(self.launch.command, environment, cores=self.launch.cores)
        except InputError:
            raise
        except (OSError, ValueError) as error:
            raise self._not_started(error) from None
        stdin, stdout, stderr = tree.streams()
        self._answers = output.answers()
        self._readers = [
            output.Reader(stdout.fileno(), self._log, self._answers),
            output.Reader(stderr.fileno(), self._log, None),
        ]
        try:
            for reader in self._readers:
                reader.start()
        except RuntimeError as error:  # no more threads are allowed
            self.kill()
            raise self._not_started(error) from None
        os.set_blocking(stdin.fileno(), False)
        answer = self.ask({"op": "hello"}, "ready", None, self._start_seconds)
        self.ready = self._checked(lambda: answers.ready(answer, self.launch))
        return self.ready

    def run(
        self,
        graphs: Sequence[Mapping[str, object]],
        *,
        repeats: int,
        warmup: int = 0,
        validate: str = "sample",
        isa: str = "auto",
        expected_seconds: float | None = None,
        most_seconds: float = math.inf,
    ) -> RunResult:
        """One `run`. `expected_seconds` for the whole request shortens the wait for a driver that hangs;
        after `most_seconds` it is stopped."""
        has, number = self._has(), self._next()
        request = {"op": "run", "id": number, "graphs": list(graphs), "repeats": repeats, "warmup": warmup}
        request |= {"validate": validate, "isa": isa}
        asked = json.dumps(request | {"id": 0}) if self.launch.repeats else ""
        if asked in self._simulated:
            return self._simulated[asked]
        begin = time.perf_counter()
        answer = self.ask(request, "result", number, self._patience(expected_seconds), most_seconds)
        took = time.perf_counter() - begin
        elapsed = math.inf if self.launch.simulated else took
        result = self._checked(lambda: answers.result(answer, number, repeats, self.launch, has, elapsed))
        if self.launch.simulated:
            self._simulated_seconds += sum(result.seconds)
            self._passed_seconds += took
        if self.launch.repeats:
            self._simulated[asked] = result
        return result

    def disturbed(
        self,
        graphs: Sequence[Mapping[str, object]],
        fault: Mapping[str, object],
        *,
        isa: str = "auto",
        expected_seconds: float | None = None,
    ) -> Disturbed:
        """One `run` of one repeat, validated in full, that is asked for `fault`: the fields of the protocol's
        `fault`. Its `file` may be left out. A `DriverError` says in `strikes` how often the fault struck."""
        has, number = self._has(), self._next()
        request = {"op": "run", "id": number, "graphs": list(graphs), "repeats": 1, "warmup": 0}
        asked = {"file": f"{self.scratch}/fault-{number}"} | dict(fault)
        request |= {"validate": "full", "isa": isa, "fault": asked}
        begin = time.perf_counter()
        with Books(str(asked["file"])) as books:
            try:
                answer = self.ask(request, "result", number, self._patience(expected_seconds))
                elapsed = math.inf if self.launch.simulated else time.perf_counter() - begin
                return self._checked(
                    lambda: answers.disturbed(answer, number, self.launch, has, elapsed, books.strikes())
                )
            except DriverError as error:
                error.strikes = books.strikes()
                raise

    def peak(self, kernel: Mapping[str, object], seconds: float, isa: str = "auto") -> Peak:
        """One `peak`, which only the reference serves."""
        has, number = self._has(), self._next()
        request = {"op": "peak", "id": number, "kernel": dict(kernel), "seconds": seconds, "isa": isa}
        answer = self.ask(request, "peak", number, self._patience(seconds))
        return self._checked(lambda: answers.peak(answer, number, has.cores))

    def log_tail(self) -> str:
        """Returns the driver's last output. Call it when the driver has failed: it takes a moment."""
        if self._tree is not None:
            time.sleep(_LOG_SECONDS)
        return self._log.tail()

    def park(self) -> None:
        """Takes the idle driver's processes off the cores, where spinning ones would disturb others."""
        if self._tree is not None and self.launch.park and not self.parked:
            self._tree.stop()
            if self._hosts:
                self._hosts.stop(self._tree.mark, self.launch.nodes)
            self.parked = True

    def resume(self) -> None:
        """Undoes `park`; a request does it by itself."""
        if self._tree is not None:
            if self._hosts:
                self._hosts.go_on(self._tree.mark, self.launch.nodes, len(self.launch.cores))
            self._tree.go_on()
            self.parked = False

    def quit(self) -> None:
        """Asks the driver to quit, and does not wait for that: `close` does."""
        if self._tree is None or self._quit_until is not None:
            return
        self._tree.note_shared_memory()
        self._quit_until = 0.0
        with contextlib.suppress(DriverError, OutOfTime):  # the time of other hosts may be up
            if self._hosts:
                self.park()  # other hosts, too, note their shared memory
            self._send({"op": "quit"}, QUIT_SECONDS, lambda: math.inf)
            self._quit_until = time.monotonic() + QUIT_SECONDS

    def close(self) -> None:
        """Lets the driver quit, then kills its remaining processes."""
        self.quit()
        if self._tree is not None and self._quit_until is not None:
            self._tree.wait(max(0.0, self._quit_until - time.monotonic()))
        self.kill()
        self._log.close()

    def kill(self) -> int | None:
        """Kills the driver and all its descendants; returns its exit code (128 + n for signal n)."""
        tree, self._tree = self._tree, None
        self.ready, self.parked, self._quit_until = None, False, None
        if tree is None:
            return None
        if self._hosts:
            self._hosts.kill(tree.mark, self.launch.nodes)
        code = tree.kill()
        for reader in self._readers:
            with contextlib.suppress(RuntimeError):  # an interrupt of the start came before the thread's own
                reader.join(1.0)
        for stream in tree.streams():
            stream.close()
        return code

    def _has(self) -> Ready:
        if self.ready is None:
            raise DriverError("crash", "the driver is not running", self._log.tail())
        return self.ready

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _patience(self, expected: float | None) -> float:
        if expected is None or (self.launch.simulated and not self._simulated_seconds):
            return self._run_seconds
        if self.launch.simulated:
            expected *= self._passed_seconds / self._simulated_seconds
        least = 10.0 * self.launch.patience
        return max(min(self._run_seconds, least + 20.0 * expected), 3.0 * expected)

    def ask(
        self,
        request: Mapping[str, object],
        event: str,
        number: int | None,
        timeout: float,
        most_seconds: float = math.inf,
    ) -> dict[str, object]:
        """Returns the answer to a request, an `event`, which is to come within `timeout` seconds."""
        if self._tree is None:
            raise DriverError("crash", "the driver is not running", self._log.tail())
        mark, nodes = self._tree.mark, self.launch.nodes
        begin = time.perf_counter()

        def time_left() -> float:
            return min(self.time_left(), begin + most_seconds - time.perf_counter())

        try:
            watch = BusyWatch(self.launch.cores, self.pids()) if self.launch.cores else None
            self._send(request, timeout, time_left)
            begin = time.perf_counter()
            line = self._wait(str(request["op"]), timeout, time_left)
            if line is None:
                raise DriverError("crash", f"ended during {request['op']}")
            others = self._hosts.busy(mark, nodes) if self._hosts else {}
            self.park()
            if watch:
                self.busy = watch.end(self.pids())
            if others:
                self.busy = busiest([self.busy, *others.values()])
            answer = answers.parse(line)
            if answer["event"] == "error":
                raise answers.error(answer, number)
            if answer["event"] != event:
                raise DriverError(
                    "protocol", f"answered {request['op']} with event {answer['event']!r}, not {event!r}"
                )
            return answer
        except DriverError as error:
            self._fail(error)
            raise
        except OutOfTime:
            self._log.note(f"stopped during {request['op']}: its time was up")
            self.kill()
            raise

    def _wait(self, op: str, timeout: float, time_left: Callable[[], float]) -> bytes | None:
        """The next answer; None if the driver ended.

        What counts for `timeout` is the time waited, not what the clock says: a harness that was itself
        stopped (Ctrl-Z) has not waited meanwhile.
        """
        waited, look = 0.0, _LOOK_SECONDS
        while waited < timeout:
            piece = max(0.0, min(look, timeout - waited, time_left()))
            try:
                return self._answers.get(timeout=piece)
            except queue.Empty:
                waited += piece
            if time_left() <= 0.0:
                raise OutOfTime
            begin = time.thread_time()
            if self._tree is not None and self._tree.wait(0.0) is not None:
                # Killed, its supervisor first, so that a daemon of its may still hold the pipes open.
                with contextlib.suppress(queue.Empty):
                    return self._answers.get(timeout=_LOOK_SECONDS)
                raise DriverError("crash", f"ended during {op}")
            if excess := self._memory.excess(self.pids()):
                raise DriverError("memory", f"was stopped during {op}: it {excess}")
            look = min(max(_LOOK_SECONDS, (time.thread_time() - begin) / _LOOK_SHARE), _LONGEST_LOOK)
        raise DriverError("timeout", f"no answer to {op} within {timeout:g} s")

    def _send(self, request: Mapping[str, object], timeout: float, time_left: Callable[[], float]) -> None:
        """Lets the driver go on, with a request in its pipe: its threads may spin until they have it, and
        would compete with this one."""
        assert self._tree is not None
        descriptor = self._tree.streams()[0].fileno()
        rest = self._write(descriptor, json.dumps(request, allow_nan=False).encode() + b"\n", request)
        self.resume()
        end = time.monotonic() + timeout
        while rest:
            patience = max(0.0, min(end - time.monotonic(), time_left()))
            _, writable, _ = select.select([], [descriptor], [], patience)
            if not writable and time_left() <= 0.0:
                raise OutOfTime
            if not writable:
                raise DriverError("timeout", f"does not read its request {request['op']}")
            rest = self._write(descriptor, rest, request)

    def _write(self, descriptor: int, rest: bytes, request: Mapping[str, object]) -> bytes:
        """Writes as much of the `rest` of a request as the pipe takes, and returns the remainder."""
        try:
            return rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            return rest
        except OSError:
            raise DriverError("crash", f"ended before {request['op']}") from None

    def _checked(self, check: Callable[[], T]) -> T:
        try:
            return check()
        except DriverError as error:
            self._fail(error, of_answer=True)
            raise

    def _not_started(self, reason: Exception) -> DriverError:
        error = DriverError("crash", f"cannot be started: {reason}")
        self._fail(error)
        return error

    def _fail(self, error: DriverError, of_answer: bool = False) -> None:
        """Completes the error with the log, and ends a driver that cannot be trusted to go on.

        `of_answer` if the driver did answer, so that nothing it needs is short.
        """
        if error.kind == "crash" and self._tree is not None:
            code = self._tree.wait(1.0)
            if code is None and not any(map(runs, self._tree.pids())):
                code = self._tree.wait(_SUPERVISOR_SECONDS)
            if code is None:
                error.message += " (closed its standard streams but runs on)"
            else:
                number = -code if code < 0 else code - 128
                killed = 0 < number < signal.NSIG
                error.message += f" (killed by signal {number})" if killed else f" (exit code {code})"
        if error.kind in ("crash", "timeout") and self.ready is None and self._tree is not None:
            error.message += f"; {self.launch.launcher} started it"
        if error.kind in ("crash", "timeout", "system") and not of_answer and (short := restrictions()):
            error.message += f"; short here: {'; '.join(short)}"
        error.args = (error.message,)
        if error.kind in ("crash", "timeout", "memory", "protocol") or self.ready is None:
            self.kill()
        self._log.note(f"{error.kind}: {error.message}")
        error.log_tail = self.log_tail()
