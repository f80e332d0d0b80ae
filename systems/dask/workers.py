"""Worker processes of Dask on another node than the driver's, one for each core, for the scheduler at an address:

python workers.py tcp://10.0.0.1:41235
"""

from __future__ import annotations

import asyncio
import os
import sys
from urllib.parse import urlsplit

import dask
from distributed import Nanny
from driver import CONFIGURATION

from taskgrain import _core
from taskgrain.system.processes import address_towards


async def work(scheduler: str) -> None:
    host = address_towards(urlsplit(scheduler).hostname or "")
    name, cores = os.uname().nodename, _core.cores()
    os.sched_setaffinity(0, cores)
    own = [
        Nanny(scheduler, nthreads=1, name=f"{name}-{k}", host=host, dashboard=False, silence_logs="ERROR")
        for k in range(len(cores))
    ]
    await asyncio.gather(*own)
    await asyncio.gather(*(one.finished() for one in own))


if __name__ == "__main__":
    dask.config.set(CONFIGURATION)
    asyncio.run(work(sys.argv[1]))
