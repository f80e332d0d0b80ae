"""Dask with worker processes: a low-level graph, submitted at once to the distributed scheduler."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import dask
import distributed
from distributed import Client, LocalCluster, Worker
from tasks import execute, task_graph

from taskgrain.system import drive
from taskgrain.system.processes import ProcessSystem, Run, join

CONFIGURATION = {
    "distributed.scheduler.worker-ttl": None,  # idle drivers are stopped, and no heartbeat is due then
    "distributed.worker.profile.enabled": False,  # samples the stacks of tasks every 10 ms
    "distributed.admin.large-graph-warning-threshold": "1GiB",
}
WORKERS = str(Path(__file__).with_name("workers.py"))
RETRIES = 3
"""The retries of a task that fails; a task whose worker is lost has as many by default."""


def join_as(dask_worker: Worker) -> None:
    join(dask_worker.name if isinstance(dask_worker.name, int) else None)


class Dask(ProcessSystem):
    name, version = "dask", distributed.__version__

    def __init__(self) -> None:
        super().__init__()
        dask.config.set(CONFIGURATION)
        self._cluster = LocalCluster(
            host=self.address or None,
            n_workers=next(iter(self.cores_of.values())),
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs="ERROR",
        )
        self._client = Client(self._cluster)
        self.start_elsewhere([sys.executable, WORKERS, self._cluster.scheduler_address, "{address}"])
        self.assemble()
        self._executions = 0

    def recruit(self) -> None:
        with contextlib.suppress(TimeoutError):
            self._client.wait_for_workers(self.cores, timeout=1)
        self._client.run(join_as)

    def execute(self, run: Run) -> None:
        self._executions += 1
        tasks, ends = task_graph(run, self._executions, execute)
        futures = self._client.get(tasks, ends, sync=False, retries=RETRIES)
        distributed.wait(futures)
        for future in futures:
            if future.status != "finished":
                future.result()  # raises

    def close(self) -> None:
        # On a busy machine either may give up. Whoever started this ends what is left.
        with contextlib.suppress(TimeoutError):
            self._client.close()
        super().close()
        with contextlib.suppress(TimeoutError):
            self._cluster.close()


if __name__ == "__main__":
    drive(Dask)
