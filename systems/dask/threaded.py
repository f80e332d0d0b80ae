"""Dask in one process: the same graph, given to the threaded scheduler."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import dask
import dask.threaded
from tasks import task_graph

from taskgrain import _core
from taskgrain.system import Run, System, check_memory, drive


class Threaded(System):
    name, version = "dask", dask.__version__

    def __init__(self) -> None:
        self._processors = _core.cores()
        self.cores = len(self._processors)
        self._thread = threading.local()
        self._numbers = itertools.count()
        self._binding: list[list[int]] = [[]] * self.cores
        started = threading.Barrier(self.cores)
        self._pool = ThreadPoolExecutor(self.cores, initializer=self._bind)
        list(self._pool.map(lambda _: started.wait(), range(self.cores)))

    def _bind(self) -> None:
        self._thread.number = next(self._numbers)
        _core.pin_this_thread(self._processors[self._thread.number])
        self._binding[self._thread.number] = _core.binding_of_this_thread()

    def binding(self) -> list[list[int]]:
        return self._binding

    def prepare(self, run: Run) -> None:
        check_memory(run)

    def execute(self, run: Run) -> None:
        def execute(graph: int, step: int, point: int, *inputs: bytes) -> bytes:
            return run.execute(self._thread.number, graph, step, point, inputs)

        tasks, ends = task_graph(run, 0, execute)
        dask.threaded.get(tasks, ends, pool=self._pool)


if __name__ == "__main__":
    drive(Threaded)
