"""The program `taskgrain`: its output and its end if something goes wrong."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from taskgrain.cli.app import app
from taskgrain.cli.notes import note
from taskgrain.words.errors import EXIT_FAILED, EXIT_INPUT, EXIT_INTERRUPTED, TaskgrainError, reason
from taskgrain.words.interrupts import ignore


def _end(text: str, code: int, words: Sequence[str]) -> NoReturn:
    """One line for people; with `--json` a document for programs, too."""
    line = " ".join(text.split())
    note(line)
    own = words[: words.index("--")] if "--" in words else words  # the others are a program's
    if "--json" in own and sys.stdout is not None:
        from taskgrain.cli.printer import print_error  # slow to load

        with contextlib.suppress(OSError, ValueError):  # it may have ended the command itself
            print_error(line, code)
            sys.stdout.flush()
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> None:
    """The program: exit code 0, 1 (something failed), 2 (bad input) or 130 (interrupted)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(words, prog_name="taskgrain", standalone_mode=False)
        if code == EXIT_INTERRUPTED:  # typer makes this of a KeyboardInterrupt
            raise KeyboardInterrupt
        sys.stdout.flush()  # here, where a full disk still finds words
        sys.exit(code if isinstance(code, int) else 0)
    except TaskgrainError as error:
        if error.exit_code == EXIT_INTERRUPTED:
            ignore()
        _end(str(error), error.exit_code, words)
    except TyperException as error:
        message = getattr(error, "format_message", error.__str__)()
        code = int(getattr(error, "exit_code", EXIT_INPUT))
        if message:
            _end(message, code, words)
        sys.exit(code)
    except (KeyboardInterrupt, typer.Abort):
        ignore()
        _end("interrupted", EXIT_INTERRUPTED, words)
    except ImportError as error:
        built = find_spec("taskgrain._core") is not None
        if built and error.name != "_core":
            raise
        what = f"cannot be loaded: {error}" if built else "is missing"
        _end(f"its core {what}; build the project (make setup)", EXIT_FAILED, words)
    except AttributeError as error:
        if error.obj is not sys.modules.get("taskgrain._core"):
            raise
        _end("its core is older than its modules; build the project (make setup)", EXIT_FAILED, words)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_FAILED)
    except OSError as error:
        try:
            named = f"{error.filename}: " if error.filename else ""
            _end(f"{named}{reason(error)}", EXIT_FAILED, words)
        finally:
            with contextlib.suppress(OSError):
                sys.stdout.close()  # what could not be printed would be tried, and complained about, again


if __name__ == "__main__":
    main()
