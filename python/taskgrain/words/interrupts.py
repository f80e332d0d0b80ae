"""Ctrl-C and its like, raised where they are heard.

What is raised while a module is imported may be lost: Cython's modules throw away whatever comes out of some
of their calls, and Python 3.11 makes a RuntimeError of it where a class is made.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_IMPORT = "<frozen importlib._bootstrap>"
_AGAIN_SECONDS = 0.01


def raise_interrupt(number: int, frame: FrameType | None) -> None:
    """Handles a signal by a KeyboardInterrupt, as soon as no import is under way."""
    if _importing(frame):
        signal.signal(signal.SIGALRM, raise_interrupt)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
        return
    raise KeyboardInterrupt


def _importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != _IMPORT:
        frame = frame.f_back
    return frame is not None


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP end a measurement like Ctrl-C: in good order, which a second one, from an
    impatient hand, does not disturb."""
    before = {number: signal.getsignal(number) for number in _INTERRUPTS}

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in _INTERRUPTS:
            signal.signal(each, signal.SIG_IGN)
        raise_interrupt(number, frame)

    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # as nohup wishes, or a shell for what runs in the background
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
