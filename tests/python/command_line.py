"""The command line as tests call it: in this process, which is quick, or as a process of its own."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from killable_study import FAKE
from rich.console import Console

from taskgrain.cli.main import main
from taskgrain.cli.printer import Printer


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    def printed(self) -> str:
        """What a command prints that succeeds."""
        assert self.code == 0, self
        return self.out

    def refusal(self) -> str:
        """What a command says that refuses its input, and does nothing else."""
        assert (self.code, self.out) == (2, ""), self
        return self.err


Command = Callable[..., Result]


def hear_interrupts() -> None:
    """A command that was interrupted in this process is deaf to more of it, as are a shell's background jobs;
    what is started then would inherit that. By SIGALRM, pytest ends what hangs."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def called(*words: object, program: Callable[[list[str]], object] = main) -> Result:
    """Calls the command, or another program, in this process."""
    hear_interrupts()
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    code: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = program([str(word) for word in words])
        except SystemExit as ended:
            code = ended.code
    return Result(int(str(code or 0)), *(one.buffer.getvalue().decode() for one in (out, err)))  # type: ignore[attr-defined]


def process(*words: object, **env: str) -> Result:
    """Calls the command as a person does; `env` adds to the environment."""
    environment = dict(os.environ) | {"TASKGRAIN_REFERENCE": str(FAKE), "COLUMNS": "100"} | env
    command = [sys.executable, "-m", "taskgrain", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def on_terminal(show: Callable[[Printer], object], width: int = 200) -> str:
    """Returns the output on a terminal of this width."""
    out = io.StringIO()
    show(Printer(Console(file=out, width=width)))
    return out.getvalue()
