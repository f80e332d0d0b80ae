"""Ray on this machine, started with the driver and ended with it: what the drivers on Ray share."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import ray
from numpy.typing import NDArray

from taskgrain.system.processes import ProcessSystem

Output = bytes | NDArray[np.uint8]
_MOST_INLINE = 100 * 1024
"""Bytes of a value that Ray sends with a call; larger ones go through shared memory."""
_OBJECT_STORE_BYTES = 2**30
_LONGEST_PLACE = 107 - len("/rXXXXXXXX/session_2026-11-22_07-26-19_778500_4194304/sockets/plasma_store")
"""Characters; that is the longest name of a socket, which may have 107."""


def value_of(output: Output) -> Output:
    """The same bytes as Ray hands them on best: arrays are read in shared memory without a copy."""
    return output if len(output) < _MOST_INLINE else np.frombuffer(output, np.uint8)


class RaySystem(ProcessSystem):
    version = ray.__version__

    def __init__(self) -> None:
        super().__init__()
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ["PYTHONPATH"] = os.pathsep.join(
            filter(None, sys.path)
        )  # workers import what the driver does
        place = tempfile.gettempdir()
        try:
            self._folder = Path(tempfile.mkdtemp("", "r", place if len(place) <= _LONGEST_PLACE else "/tmp"))
        except OSError as error:
            sys.exit(f"Ray's sockets need a TMPDIR of at most {_LONGEST_PLACE} characters, or /tmp: {error}")
        ray.init(
            num_cpus=self.cores,
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE_BYTES,
            log_to_driver=False,
            logging_level="ERROR",
            _system_config={"kill_idle_workers_interval_ms": 0},  # of too many, it would end those that joined
            _temp_dir=str(self._folder),
        )

    def close(self) -> None:
        ray.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)
