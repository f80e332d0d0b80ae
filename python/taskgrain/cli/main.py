"""The program `taskgrain`: what it prints, and how it ends, where something goes wrong."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec

import typer
from typer.exceptions import TyperException

from taskgrain.cli.app import app
from taskgrain.words.errors import EXIT_FAILED, EXIT_INPUT, EXIT_INTERRUPTED, TaskgrainError, reason
from taskgrain.words.interrupts import ignore


def _complain(text: str) -> None:
    sys.stderr.write("taskgrain: " + " ".join(text.split()) + "\n")


def _refuse(text: str, words: Sequence[str]) -> None:
    """Complains about bad input, and tells a program that asked for JSON the same in JSON."""
    _complain(text)
    if "--json" in words:
        with contextlib.suppress(OSError):  # who reads has gone
            sys.stdout.write(json.dumps({"schema": 1, "error": " ".join(text.split())}) + "\n")
            sys.stdout.flush()


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
        _refuse(str(error), words if error.exit_code == EXIT_INPUT else ())
        sys.exit(error.exit_code)
    except TyperException as error:
        message = getattr(error, "format_message", error.__str__)()
        if message:
            _refuse(message, words)
        sys.exit(getattr(error, "exit_code", EXIT_INPUT))
    except (KeyboardInterrupt, typer.Abort):
        ignore()
        _complain("interrupted")
        sys.exit(EXIT_INTERRUPTED)
    except ImportError as error:
        built = find_spec("taskgrain._core") is not None
        if built and error.name != "_core":
            raise
        what = f"cannot be loaded: {error}" if built else "is missing"
        _complain(f"its core {what}; build the project (make setup)")
        sys.exit(EXIT_FAILED)
    except AttributeError as error:
        if error.obj is not sys.modules.get("taskgrain._core"):
            raise
        _complain("its core is older than its modules; build the project (make setup)")
        sys.exit(EXIT_FAILED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_FAILED)
    except OSError as error:
        _complain(f"{f'{error.filename}: ' if error.filename else ''}{reason(error)}")
        with contextlib.suppress(OSError):
            sys.stdout.close()  # what could not be printed would be tried, and complained about, again
        sys.exit(EXIT_FAILED)


if __name__ == "__main__":
    main()
