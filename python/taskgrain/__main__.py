"""The start of the command. It is small, because Ctrl-C must simply end it until the rest is loaded."""

from __future__ import annotations

import signal


def main() -> None:
    """The program; see `taskgrain.cli.main.main`."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from taskgrain.cli import main as cli  # a moment, in which an interrupt would end in a stack trace
    from taskgrain.words.interrupts import Interrupt

    if before == signal.default_int_handler:
        signal.signal(signal.SIGINT, Interrupt())
    cli.main()


if __name__ == "__main__":
    main()
