"""Lets tests wait until something is so, however busy the machine is. The limit of a test ends what hangs."""

import time
from collections.abc import Callable

HANG = 600.0
"""Seconds, for what must be given some: nothing but a hang takes so long."""


def wait_until(true: Callable[[], object]) -> None:
    while not true():
        time.sleep(0.005)
