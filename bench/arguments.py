"""Values on the command lines of the benchmarks; each raises `ArgumentTypeError`, which argparse shows."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"'{text}' is not allowed; allowed: a whole number from 1")
    return int(text)


def positive(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise ArgumentTypeError(f"'{text}' is not allowed; allowed: a number above 0")
    return value


def numbers(low: int, high: int, *, whole: bool = False) -> Callable[[str], list[float]]:
    """Numbers with commas between, whole ones as such."""

    def read(text: str) -> list[float]:
        try:
            found = [float(word) for word in text.split(",")]
        except ValueError:
            found = [math.nan]
        if not all(low <= one <= high and (one.is_integer() or not whole) for one in found):
            kind = "whole numbers" if whole else "numbers"
            raise ArgumentTypeError(
                f"'{text}' is not allowed; allowed: {kind} from {low} to {high}, with commas"
            )
        return [int(one) if one.is_integer() else one for one in found]

    return read


def names(allowed: Iterable[str], between: str = ",") -> Callable[[str], list[str]]:
    """A list of some of the names."""

    def read(text: str) -> list[str]:
        found = [name.strip() for name in text.split(between)]
        for name in found:
            if name not in allowed:
                raise ArgumentTypeError(f"'{name}' is not allowed; allowed: {f'{between} '.join(allowed)}")
        return found

    return read
