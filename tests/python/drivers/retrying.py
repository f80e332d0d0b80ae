#!/usr/bin/env python3
"""A driver in Python that survives: a task that failed, or whose process has ended, is executed again.

retrying.py [RETRIES]
"""

import sys
from multiprocessing import get_context
from multiprocessing.connection import Connection

from taskgrain.system import Run, drive
from taskgrain.system.processes import ProcessSystem, join

RETRIES = int(sys.argv[1]) if len(sys.argv) > 1 else 3
SPAWN = get_context("spawn")


def work(number: int | None, driver: Connection) -> None:
    join(number)
    driver.send(None)
    while True:
        graph, step, point, inputs = driver.recv()
        try:
            driver.send(join().run.execute(0, graph, step, point, inputs))
        except RuntimeError as error:
            driver.send(error)


class Retrying(ProcessSystem):
    name, version = "retrying", "1"

    def __init__(self) -> None:
        super().__init__()
        self._workers = [self._worker(k) for k in range(self.cores)]

    def _worker(self, number: int | None) -> Connection:
        own, theirs = SPAWN.Pipe()
        SPAWN.Process(target=work, args=(number, theirs), daemon=True).start()
        theirs.close()
        own.recv()
        return own

    def execute(self, run: Run) -> None:
        for g in range(run.graphs):
            before: dict[int, bytes] = {}
            for step in range(run.steps(g)):
                first, last = run.points(g, step)
                before = {
                    point: self._execute(g, step, point, [before[j] for j in run.deps(g, step, point)])
                    for point in range(first, last + 1)
                }

    def _execute(self, graph: int, step: int, point: int, inputs: list[bytes]) -> bytes:
        k = point % self.cores
        failure: Exception = RuntimeError("not tried")
        for _ in range(1 + RETRIES):
            try:
                self._workers[k].send((graph, step, point, inputs))
                answer = self._workers[k].recv()
                if isinstance(answer, bytes):
                    return answer
                failure = answer
            except (EOFError, OSError):
                failure = RuntimeError("a worker has ended")
                self._workers[k] = self._worker(None)
        raise failure


if __name__ == "__main__":
    drive(Retrying)
