"""How a study measures: the settings of a study file, and of the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from taskgrain.words import numbers
from taskgrain.words.errors import InputError

VALIDATE = ("off", "sample", "full")
ISAS = ("auto", "avx512", "avx2", "neon", "portable")
Named = Callable[[str], str]
"""Makes of a field what a bad value of it is reported as: `--radix`, `s.toml:3:9: workloads[0].radix`."""


@dataclass(frozen=True)
class Settings:
    """How a study measures; what `study.toml` holds beside the workloads."""

    cores: int = 0
    """0: all physical cores that this process may use."""
    threshold: float = 0.5
    """The efficiency whose granularity is METG."""
    precision: float = 0.1
    """The wished half-width of the 95 % interval, as a share of METG."""
    budget: float = 0.0
    """Seconds for the whole study, over all calls; 0: no limit."""
    steps: int = 0
    """0: chosen for each cell."""
    repeats: int = 3
    min_rounds: int = 8
    max_rounds: int = 40
    first_iterations: int = 64
    """Where the search begins."""
    sweep: bool = False
    """Measure the whole curve, as the Task Bench paper does, and not only where it crosses the threshold."""
    validate: str = "sample"
    isa: str = "auto"


def take_settings(table: dict[str, Any], named: Named) -> Settings:
    """Takes the settings out of a table; `named` makes of a field what a bad value is reported as."""

    def take(name: str) -> tuple[Any, str]:
        return table.pop(name, getattr(Settings, name)), named(name)

    threshold = numbers.real(*take("threshold"), above=True)
    if threshold >= 1.0:
        raise InputError(named("threshold"), threshold, "a number above 0 and below 1")
    # Who gives one of the two means the other to follow.
    given = "min_rounds" in table, "max_rounds" in table
    least = numbers.integer(*take("min_rounds"), low=1, high=10_000)
    most = numbers.integer(*take("max_rounds"), low=1, high=10_000)
    if most < least and all(given):
        raise InputError(named("min_rounds"), least, f"1 to {most}, the value of max_rounds")
    return Settings(
        cores=numbers.integer(*take("cores")),
        threshold=threshold,
        precision=numbers.real(*take("precision"), high=1.0, above=True),
        budget=numbers.seconds(*take("budget"), above=False),
        steps=numbers.integer(*take("steps")),
        repeats=numbers.integer(*take("repeats"), low=1, high=10_000),
        min_rounds=least if given[0] else min(least, most),
        max_rounds=most if given[1] else max(least, most),
        first_iterations=numbers.integer(*take("first_iterations"), low=1, high=2**40),
        sweep=numbers.flag(*take("sweep")),
        validate=numbers.text(*take("validate"), VALIDATE),
        isa=numbers.text(*take("isa"), ISAS),
    )
