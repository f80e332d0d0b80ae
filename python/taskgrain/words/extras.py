"""Extras of the package: one command alone needs each, and it is there only where somebody installed it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from taskgrain.words.errors import UsageError


@contextmanager
def needing(extra: str, what: str = "") -> Iterator[None]:
    """Surrounds imports of what `extra` of pyproject.toml brings, for `what` or the command of its name.

    Raises `UsageError` if it is not there, or not for this processor.
    """
    what = what or extra
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Missing required CPU features", RuntimeWarning)
            yield
    except RuntimeWarning:  # of polars, before an instruction that is not there ends the process
        install = f"{sys.executable} -m pip install 'polars[rtcompat]'"
        raise UsageError(
            f"{what} needs polars, whose usual build is for processors with AVX2, which this one has not; "
            f"there is one for older processors: {install} (before polars 1.35: polars-lts-cpu)"
        ) from None
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("taskgrain"):  # no extra would bring it
            raise
        install = f"{sys.executable} -m pip install 'taskgrain[{extra}]'"
        raise UsageError(f"{what} needs {error.name}, which is not installed: {install}") from None
