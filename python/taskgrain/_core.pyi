"""The core, from `src/python/core.cpp`."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import Buffer

class InvalidSpec(ValueError):
    """Bad input; the message names the field, the value and what is allowed."""

class Unsupported(RuntimeError):
    """Well formed, but beyond what this build or machine can do."""

class Waiting:
    """Counts from its making on how long threads of this process wait for processors that others have."""

    def __init__(self) -> None: ...
    def seconds(self, cores: int, of: float) -> float:
        """Stops the count, of a driver that uses so many cores: seconds of all threads together, at most
        those of the cores in the time `of` that was measured; NaN where the kernel does not say."""

class Run:
    """The graphs of a `run` request (JSON text), and one execution of them."""

    def __init__(self, request_json: str) -> None: ...
    @property
    def graphs(self) -> int: ...
    @property
    def tasks(self) -> int: ...
    @property
    def id(self) -> int: ...
    @property
    def repeats(self) -> int: ...
    @property
    def warmup(self) -> int: ...
    @property
    def strikes(self) -> int | None:
        """How often the fault that the request asks for has struck, in all processes; None if it asks for
        none. In a run with a fault `accounts` and `verify` are those of all processes, too."""

    @property
    def address(self) -> int:
        """Where the `taskgrain::Execution` lies, for drivers whose tasks are C++ of the same build."""

    def steps(self, graph: int = 0) -> int: ...
    def width(self, graph: int = 0) -> int: ...
    def output_bytes(self, graph: int = 0) -> int: ...
    def dependence_set(self, graph: int, step: int, /) -> int: ...
    def points(self, graph: int, step: int, /) -> tuple[int, int]:
        """The first and the last point that exist at a step; last < first if there is none."""

    def deps(self, graph: int, step: int, point: int, /) -> list[int]: ...
    def reverse_deps(self, graph: int, step: int, point: int, /) -> list[int]: ...
    def weights(self, graph: int, step: int, /) -> list[float]: ...
    def stats(self, graph: int = 0, nodes: int = 1) -> dict[str, int]: ...
    def shape(self, graph: int = 0) -> dict[str, Any]:
        """How the shape of a graph depends on its steps: after `ramp` steps, points and dependences repeat
        every `period` steps; if it is `whole`, other steps make another shape."""

    def bound(self, cores: int) -> dict[str, Any]:
        """What all graphs together allow on so many cores: `tasks`, `critical_path`, `narrowest` and `widest`
        step in tasks, `narrow_steps` with fewer tasks than cores, and the least `time`, counted in tasks."""

    def execute_point(
        self, worker: int, graph: int, step: int, point: int, output: Buffer, inputs: Sequence[Buffer]
    ) -> None:
        """Executes one task: checks `inputs` (one buffer for each dependence, in increasing order of
        points), fills `output`, runs the kernel, with the interpreter's lock released. `worker` is a small
        number, one per thread."""

    def execute(self, worker: int, graph: int, step: int, point: int, inputs: Sequence[Buffer]) -> bytes:
        """As `execute_point`, into memory of its own: the output, for runtimes that hand on values."""

    @property
    def request(self) -> str:
        """The JSON text that it was made from, for other processes."""

    def distribute(self) -> None:
        """Says that other processes execute tasks too: a producer that did not run here is no violation."""

    def books(self) -> bytes:
        """What this process executed, to be given to `add`."""

    def add(self, books: bytes) -> None:
        """Adds what another process executed of the same request, until `clear`."""

    def clear(self) -> None: ...
    def accounts(self) -> dict[str, Any]: ...
    def verify(self) -> dict[str, Any] | None: ...

def patterns() -> list[str]: ...
def also_called() -> dict[str, str]:
    """Of each pattern what people call it who do not know its name, with commas."""

def kernels() -> list[str]: ...
def fields() -> list[dict[str, Any]]:
    """The fields of a graph and of its kernel, as include/taskgrain/fields.hpp describes them.

    Each has `name`, `type` (integer, number, bytes, flag, text, choice), `unit`, `default`, `low` and `high`
    (None: no bound), `help`, `of_kernel`, and the `choices` of a choice (else None).
    """

def dag_hash(path: str) -> int:
    """Of a file's bytes, from 1 to 2^48 - 1. Raises `InvalidSpec` for what is no regular file."""

class Dependences:
    """The dependences of a graph of any shape, whose tasks have numbers."""

    def __init__(self, before: Sequence[Sequence[int]]) -> None:
        """Of each task, those that it depends on. Raises `IndexError` for one that is not there."""

    def order(self) -> list[int]:
        """The tasks, each after those that it depends on; without those in cycles, and after these."""

    def ends(self, durations: Sequence[float]) -> list[float]:
        """When each task ends, if each begins as early as it can."""

    def late(self) -> tuple[list[int], list[int]]:
        """The step of each task, and that of the last which reads its output, or -1: in as few steps as there
        can be, and late where fewer points then pass outputs on."""

def fold_recording(
    events: str, seconds_per_tick: float
) -> tuple[list[tuple[str, int]], list[int], list[float], list[list[int]]]:
    """The graph of the events that src/record/tool.cpp has written: names of tasks, each a kind and the
    address of the code; for each task the number of its name, its seconds, and the tasks before it. Raises
    `RuntimeError` for what are no events of a program."""

def byte_count(text: str) -> int | None:
    """Bytes as people write them, such as `1.5 MiB`; None if `text` is no whole number below 2^53."""

MOST_TASKS_WITH_FAULT: int

def cores() -> list[int]: ...
def pin_this_thread(processor: int) -> None: ...
def binding_of_this_thread() -> list[int]: ...
def descendants(roots: Sequence[int], listed: bool = True) -> list[int]:
    """All processes below the `roots`, nearest first. The kernel lists the children of each thread; where it
    does not, or without `listed`, the table of all processes tells, which takes longer."""

def shared_memory(pids: Sequence[int], since: float) -> list[bytes]:
    """Files of /dev/shm that are younger than `since`, as `time.time` counts, and that these processes share.
    MPI, Python and OpenMP remove theirs at the end, but not if they are killed, and Ray leaves its
    semaphores."""

def build_facts_json() -> str: ...
