"""Records what Dask executes: its tasks, their dependences and durations, for `taskgrain graph --from`.

Dask's distributed scheduler tells a plugin of the times in which a worker has computed a task.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from taskgrain.graphs import graph_file
from taskgrain.graphs.task_graph import made
from taskgrain.words.errors import InputError, check_writable

_PLUGIN = "taskgrain"


@contextmanager
def recorded(client: Any, path: str | Path = "graph.json") -> Iterator[None]:
    """Writes the graph of all tasks that a `distributed.Client` has Dask execute within a `with` statement to
    a file, or nothing after an exception. Waits for the futures that have not ended. Raises `InputError` for
    a file that cannot be written, within another recording, and if Dask has executed no task."""
    check_writable("path", Path(path))
    import distributed
    from dask.utils import key_split

    dask: Any = distributed  # whose functions have no types
    if client.run_on_scheduler(lambda dask_scheduler: _PLUGIN in dask_scheduler.plugins):
        raise InputError("recorded", "a second one", "one recording of a cluster at a time")
    there = {*client.futures}
    client.register_plugin(_plugin())
    try:
        yield
        begun = [dask.Future(key, client) for key in client.futures.keys() - there]
        dask.wait([one for one in begun if not one.done()])
        # By value, as the plugin: the scheduler's machine needs no taskgrain.
        ended = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.plugins[_PLUGIN].tasks)
    finally:
        client.unregister_scheduler_plugin(_PLUGIN)
    if not ended:
        raise InputError("tasks", 0, "a program of which Dask executes a task")
    numbered = {f"{number}": one for number, one in enumerate(ended)}
    before = [(name, f"{other}") for name, one in numbered.items() for other in one[2]]
    labels = {name: str(key_split(one[0])) for name, one in numbered.items()}
    times, outputs = ({name: one[place] for name, one in numbered.items()} for place in (1, 3))
    graph = made("Dask", times, before, "s", labels=labels, outputs=outputs)
    Path(path).write_bytes(graph_file.stored(graph, Path(path)))


def _plugin() -> Any:
    """A plugin that keeps what workers say of the tasks that they have ended."""
    from distributed import SchedulerPlugin

    class Ended(SchedulerPlugin):
        """The key of each task, as often as it was computed, its seconds, the numbers of the tasks that it
        depends on, without those from before, and the bytes of its result."""

        name = _PLUGIN

        def __init__(self) -> None:
            self.tasks: list[tuple[str, float, list[int], int | None]] = []
            self.last: dict[Any, int] = {}
            self.scheduler: Any = None

        async def start(self, scheduler: Any) -> None:
            self.scheduler = scheduler

        def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
            times = kwargs.get("startstops")
            if start == "processing" and finish == "memory" and times:
                seconds = sum(one["stop"] - one["start"] for one in times if one["action"] == "compute")
                others = [one.key for one in self.scheduler.tasks[key].dependencies]
                before = [self.last[one] for one in others if one in self.last]
                self.last[key] = len(self.tasks)
                self.tasks.append((str(key), seconds, before, kwargs.get("nbytes")))

    return Ended()
