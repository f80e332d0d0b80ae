"""Ctrl-C and its like, raised where they are heard.

What is raised while a module is imported may be lost: Cython's modules throw away whatever comes out of some
of their calls, and Python 3.11 makes a RuntimeError of it where a class is made.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, TypeVar

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_IMPORT = "<frozen importlib._bootstrap>"
_UNINTERRUPTED: set[CodeType] = set()
F = TypeVar("F", bound=Callable[..., Any])
_AGAIN_SECONDS = 0.01


def uninterrupted(function: F) -> F:
    """Makes interrupts wait until a function has returned: a decorator."""
    _UNINTERRUPTED.add(function.__code__)
    return function


class Interrupt:
    """Handles signals by a KeyboardInterrupt: at once, or after the import, or the call of an `uninterrupted`
    function, that is under way."""

    def __init__(self, *ignored: signal.Signals) -> None:
        """Ignores the signals `ignored` from the first interrupt on."""
        self._ignored = ignored
        self._around = _waited_for(sys._getframe())
        """A program may itself be a module that is imported: such imports are not waited for."""
        self._waits = False
        self._alarm: object = None
        """The handler of SIGALRM before."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        for one in self._ignored:
            signal.signal(one, signal.SIG_IGN)
        if _waited_for(frame) > self._around:
            if not self._waits:
                self._alarm = signal.signal(signal.SIGALRM, self)
                self._waits = True
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
            return
        self.forget()
        raise KeyboardInterrupt

    def forget(self) -> bool:
        """Gives back the timer. Returns whether an interrupt was waiting, which is then raised no more."""
        waited, self._waits = self._waits, False
        if waited:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._alarm)  # type: ignore[arg-type]
        return waited


def ignore() -> None:
    """Ignores further interrupts: call it where nothing is left to be interrupted."""
    for number in (*_INTERRUPTS, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0.0)


def _waited_for(frame: FrameType | None) -> int:
    """The number of frames of what an interrupt waits for."""
    found = 0
    while frame is not None:
        found += frame.f_code.co_filename == _IMPORT or frame.f_code in _UNINTERRUPTED
        frame = frame.f_back
    return found


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP end a measurement like Ctrl-C: in good order, which a second one, from an
    impatient hand, does not disturb."""
    before = {number: signal.getsignal(number) for number in _INTERRUPTS}
    interrupt = Interrupt(*_INTERRUPTS)
    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # as nohup wishes, or a shell for what runs in the background
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if interrupt.forget():
            raise KeyboardInterrupt
