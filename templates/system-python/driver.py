"""A system of your own: every task is a future, submitted with the futures that it reads."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from taskgrain.system import Run, System, binding_of_this_thread, check_memory, cores, drive, pin_this_thread


class Mine(System):
    name, version = "mine", "1"  # the version is that of your runtime

    def __init__(self) -> None:
        self._processors = cores()
        self.cores = len(self._processors)
        self._numbers = itertools.count()
        self._thread = threading.local()
        self._binding: list[list[int]] = [[]] * self.cores
        # Stands for your runtime: replace it.
        self._pool = ThreadPoolExecutor(self.cores, initializer=self._bind)
        started = threading.Barrier(self.cores)
        list(self._pool.map(lambda _: started.wait(), range(self.cores)))

    def _bind(self) -> None:
        """Each thread has a number, and a processor of its own."""
        self._thread.number = next(self._numbers)
        pin_this_thread(self._processors[self._thread.number])
        self._binding[self._thread.number] = binding_of_this_thread()

    def binding(self) -> list[list[int]]:
        return self._binding

    def prepare(self, run: Run) -> None:
        check_memory(run)

    def execute(self, run: Run) -> None:
        def task(g: int, step: int, point: int, inputs: list[Future[bytes]]) -> bytes:
            # Earlier futures have been submitted, so have begun, before this one: to wait for them ends.
            return run.execute(self._thread.number, g, step, point, [one.result() for one in inputs])

        futures: list[Future[bytes]] = []
        for g in range(run.graphs):
            before: dict[int, Future[bytes]] = {}
            for step in range(run.steps(g)):
                first, last = run.points(g, step)
                now = {}
                for point in range(first, last + 1):
                    inputs = [before[j] for j in run.deps(g, step, point)]
                    now[point] = self._pool.submit(task, g, step, point, inputs)
                futures += now.values()
                before = now
        for future in futures:
            future.result()  # raises what a task has raised

    def close(self) -> None:
        self._pool.shutdown()


if __name__ == "__main__":
    drive(Mine)
