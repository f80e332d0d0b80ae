"""The start of the command. It is small, because Ctrl-C must simply end it until the rest is loaded."""

from __future__ import annotations

import os
import signal
import sys

_MISLEADING = ("PYTHONPATH", "PYTHONWARNINGS", "PYTHONOPTIMIZE")
"""Variables that put other modules before ours, make warnings errors, or take away the texts of the help."""


def _open_standard_streams() -> None:
    """Opens /dev/null for standard streams that the caller closed (cron, a daemon, `0<&-`). Else the next
    file that is opened, a pipe to a driver perhaps, would take its number."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest number that is free
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 (for as long as the process lives)


def main() -> None:
    """The program; see `taskgrain.cli.main.main`."""
    _open_standard_streams()
    if any(map(os.environ.get, _MISLEADING)) and not sys.flags.ignore_environment:
        _without_misleading()
    before = signal.getsignal(signal.SIGINT)
    if before == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from taskgrain.cli import main as cli  # a moment, in which an interrupt would end in a stack trace
    from taskgrain.words.interrupts import Interrupt

    if before == signal.default_int_handler:
        signal.signal(signal.SIGINT, Interrupt())
    cli.main()


def _without_misleading() -> None:
    """Starts anew without the shell's variables for Python, unless Python needs them to find taskgrain."""
    here = os.path.realpath(os.path.dirname(os.path.dirname(__file__)))
    paths = map(os.path.realpath, filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    if here not in paths and "PYTHONHOME" not in os.environ:
        os.execv(sys.executable, [sys.executable, "-E", "-P", "-m", "taskgrain", *sys.argv[1:]])


if __name__ == "__main__":
    main()
