"""Ray on the nodes of the driver, started and ended with it: what the drivers on Ray share."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from taskgrain.system.processes import ProcessSystem

Output = bytes | NDArray[np.uint8]
_MOST_INLINE = 100 * 1024
"""Bytes of a value that Ray sends with a call; larger ones go through shared memory."""
_OBJECT_STORE_BYTES = 2**30
WORKERS = str(Path(__file__).with_name("workers.py"))
_LONGEST_PLACE = 107 - len("/rXXXXXXXX/session_2026-11-22_07-26-19_778500_4194304/sockets/plasma_store")
"""Characters; that is the longest name of a socket, which may have 107."""


def value_of(output: Output) -> Output:
    """The same bytes as Ray hands them on best: arrays are read in shared memory without a copy."""
    return output if len(output) < _MOST_INLINE else np.frombuffer(output, np.uint8)


class RaySystem(ProcessSystem):
    version = ray.__version__

    def __init__(self) -> None:
        super().__init__()
        os.environ["RAY_AUTH_TOKEN"] = os.environ["TASKGRAIN_DRIVER"].rpartition(":")[2]
        os.environ["PYTHONPATH"] = os.pathsep.join(
            filter(None, sys.path)
        )  # workers import what the driver does
        place = tempfile.gettempdir()
        try:
            self._folder = Path(tempfile.mkdtemp("", "r", place if len(place) <= _LONGEST_PLACE else "/tmp"))
        except OSError as error:
            sys.exit(f"Ray's sockets need a TMPDIR of at most {_LONGEST_PLACE} characters, or /tmp: {error}")
        cores = next(iter(self.cores_of.values()))
        ray.init(
            num_cpus=cores,
            resources={self.hosts[0]: cores},
            _node_ip_address=self.address or None,
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE_BYTES,
            log_to_driver=False,
            logging_level="ERROR",
            _system_config={
                "kill_idle_workers_interval_ms": 0
            },  # of too many, it would end those that joined
            _temp_dir=str(self._folder),
        )
        there = [f"--address={ray.get_runtime_context().gcs_address}", "--node-ip-address={address}"]
        there.append(f"--object-store-memory={_OBJECT_STORE_BYTES}")
        self.start_elsewhere([sys.executable, WORKERS, os.environ["PYTHONPATH"], *there])
        self._ready: list[ray.ObjectRef[None]] = []

    def start_actors(self, kind: Any, *arguments: object) -> list[Any]:
        """One for each core, on its node; each gets its number first."""
        made = [kind.options(resources={host: 1}).remote(k, *arguments) for k, host in enumerate(self.hosts)]
        self._ready = [one.ready.remote() for one in made]
        self.assemble()
        ray.get(self._ready)
        return made

    def recruit(self) -> None:
        """Waits for actors, which join as they start."""
        if not ray.wait(self._ready, num_returns=self.cores, timeout=1)[1]:
            ray.get(self._ready)
            if not self.is_complete():
                super().recruit()

    def close(self) -> None:
        ray.shutdown()
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)
