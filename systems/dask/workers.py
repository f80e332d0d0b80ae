"""Worker processes of Dask on another node than the driver's, one for each core:

python workers.py tcp://10.0.0.1:41235 10.0.0.2  # of the scheduler, and this node's
"""

from __future__ import annotations

import asyncio
import sys

import dask
from distributed import Nanny
from driver import CONFIGURATION

from taskgrain import _core


async def work(scheduler: str, host: str) -> None:
    own = [
        Nanny(scheduler, nthreads=1, name=f"{host}-{k}", host=host, dashboard=False, silence_logs="ERROR")
        for k in range(len(_core.cores()))
    ]
    await asyncio.gather(*own)
    await asyncio.gather(*(one.finished() for one in own))


if __name__ == "__main__":
    dask.config.set(CONFIGURATION)
    asyncio.run(work(*sys.argv[1:]))
