"""Numbers as people write them: `1e6` is a million, `5%` is 0.05, `64K` is 65536 bytes, `2h` is 7200 seconds.

Text comes from the command line, values from a study file; both end here, so that both accept the same
(docs/reference/cli.md#values). Every function raises `InputError`, which names the field, the value and what
is allowed: a message recommends nothing that the same field refuses.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation

from taskgrain import _core
from taskgrain.words.errors import InputError

LARGEST = 2**63 - 1
"""The largest integer of the driver protocol."""
LONGEST = 365 * 86400.0
"""The longest time, in seconds, that anybody waits for a task or for a command."""

_UNITS = {"ns": "1e-9", "us": "1e-6", "µs": "1e-6", "μs": "1e-6", "ms": "1e-3", "s": "1"}
_UNITS |= {"min": "60", "m": "60", "h": "3600", "d": "86400"}
"""The units of time, in seconds; decimal, so that 20us becomes the number that is nearest to it."""
_AMOUNT = rf"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{{1,2}})?)\s*({'|'.join(_UNITS)})"
AMOUNTS = rf"{_AMOUNT}(?:\s*{_AMOUNT})*"
"""A time with its units: `20us`, `2h`, `1h 30m`."""
CLOCK = r"(?:[0-9]+-[0-9]+(?::[0-5]?[0-9]){0,2}|[0-9]+(?::[0-5]?[0-9]){1,2})"
"""A time as Slurm writes it: `30:00`, `1:30:00`, `1-12`, `1-00:00:00`."""
_LONGEST = 40  # no number that fits is longer, and Decimal("1e999999999") must not be made an int


def _written(bound: float) -> str:
    """A bound as people write it: `1000000`, `2^40`, `0.05`, `1e15`."""
    if not math.isfinite(bound) or bound != int(bound):
        return f"{bound:g}"
    whole, short = int(bound), f"{bound:g}".replace("e+", "e")
    if whole >= 1 << 20 and whole.bit_count() == 1:
        return f"2^{whole.bit_length() - 1}"
    return short if whole >= 10**9 and float(short) == whole else str(whole)


def _time_written(bound: float) -> str:
    """A time as people write it: `120s`, `365d`."""
    days = bound / 86400.0
    return f"{days:g}d" if days and days == int(days) else f"{_written(bound)}{'s' if bound else ''}"


def _range(
    low: float,
    high: float,
    what: str,
    *,
    above: bool = False,
    below: bool = False,
    written: Callable[[float], str] = _written,
) -> str:
    least, most = written(low), written(high)
    bound = f"above {least}" if above else f"at least {least}"
    if below:
        return f"{what} {bound} and below {most}"
    if math.isinf(high) or high >= LARGEST:
        return f"{what} {bound}"
    return f"{what} {'above' if above else 'from'} {least} to {most}"


def integer(value: object, field: str, *, low: int = 0, high: int = LARGEST) -> int:
    """An integer from text (`1000`, `1e6`, `1_000`) or from a value of a file (`1000`, `1e6`)."""
    allowed = _range(low, high, "an integer")
    number: Decimal
    if isinstance(value, bool):
        raise InputError(field, value, allowed)
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        number = Decimal(value)
    elif isinstance(value, str) and value.isascii() and 0 < len(value.strip()) <= _LONGEST:
        try:
            number = Decimal(value.strip())
        except InvalidOperation:
            raise InputError(field, value, allowed) from None
    else:
        raise InputError(field, value, allowed)
    if not number.is_finite() or number.adjusted() > 19 or number != number.to_integral_value():
        raise InputError(field, value, allowed)
    whole = int(number)
    if not low <= whole <= high:
        raise InputError(field, value, f"an integer from {low} to {high}" if whole > high else allowed)
    return whole


def real(
    value: object,
    field: str,
    *,
    low: float = 0.0,
    high: float = math.inf,
    above: bool = False,
    below: bool = False,
) -> float:
    """A finite number from `low` (excluded if `above`) to `high` (excluded if `below`); text may be a
    percentage, such as `5%`."""
    allowed = _range(low, high, "a number", above=above, below=below)
    if low <= 0.05 < high:
        allowed += ", such as 0.05 or 5%"
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(field, value, allowed)
    if isinstance(value, str) and not value.isascii():  # other scripts' digits
        raise InputError(field, value, allowed)
    written = value
    if isinstance(value, str) and value.strip().endswith("%"):
        written = f"{value.strip()[:-1].rstrip()}e-2"  # and not a quotient, which would be rounded twice
    try:
        number = float(written)
    except (ValueError, OverflowError):
        raise InputError(field, value, allowed) from None
    outside = not low <= number <= high or (above and number == low) or (below and number == high)
    if not math.isfinite(number) or outside:
        raise InputError(field, value, allowed)
    return number


def size(value: object, field: str, *, low: int = 0, high: int = LARGEST) -> int:
    """Bytes: an integer, or text such as `64K`, `64KiB`, `1M`; the core reads text, as for drivers."""
    if isinstance(value, str):
        found = _core.byte_count(value) if value.isascii() else None
        if found is not None and low <= found <= high:
            return found
    else:
        with contextlib.suppress(InputError):
            return integer(value, field, low=low, high=high)
    such = "such as 4096, 64K, 64KiB, 1M (multiples of 1024; KB is not allowed)"
    raise InputError(field, value, f"{_range(low, high, 'bytes,')}, {such}")


def flag(value: object, field: str) -> bool:
    """A truth value of a file."""
    if not isinstance(value, bool):
        raise InputError(field, value, "true or false")
    return value


def text(value: object, field: str, allowed: Sequence[str] | None = None, lister: str = "") -> str:
    """Text of a file; one of `allowed` if given, which the command `lister` lists."""
    if not isinstance(value, str) or not value.isprintable():
        raise InputError(field, value, "text")
    if allowed is not None and value not in allowed:
        raise InputError(field, value, allowed, lister)
    return value


def is_duration(value: object) -> bool:
    """Tells whether a text is a time with its unit, such as `20us`, whatever the number."""
    return isinstance(value, str) and re.fullmatch(AMOUNTS, value.strip()) is not None


def duration(value: object, field: str) -> float:
    """The time of a task, in seconds: text with a unit, such as `20us`, `1.5ms`, `500 ns`, `2s`; above 0."""
    found = _time(value) if is_duration(value) else None
    if not found or found > LONGEST:
        such = "such as 500ns, 20us, 1.5ms, 2s"
        raise InputError(field, value, f"a time above 0 to {_time_written(LONGEST)} with its unit, {such}")
    return found


def durations(value: object, field: str) -> tuple[float, ...]:
    """Times of tasks from text with commas, ascending, each once: `50us,20us`. None from an empty text."""
    words = value.split(",") if isinstance(value, str) else [value]
    return tuple(sorted({duration(word, field) for word in words})) if value != "" else ()


def duration_text(value: float) -> str:
    """Seconds as a text that `duration` reads, to a picosecond: `2500ns`."""
    return f"{value * 1e9:.3f}".rstrip("0").rstrip(".") + "ns"


def seconds(
    value: object,
    field: str,
    *,
    low: float = 0.0,
    high: float = LONGEST,
    above: bool = True,
    with_unit: bool = False,
) -> float:
    """Seconds: a number, unless it must have its unit; or text such as `90s`, `1h30m`, `1-00:00:00`."""
    found = _time(value)
    bare = found is None and not with_unit and "%" not in str(value)
    try:
        return real(value if bare else found, field, low=low, high=high, above=above)
    except InputError:
        bounds = _range(low, high, "a time", above=above, written=_time_written)
        such = "with its unit, such as 30m, 2h, 1d" if with_unit else "such as 90, 10m, 2h, 1d"
        raise InputError(field, value, f"{bounds}{'' if with_unit else ','} {such}, 1-00:00:00") from None


def _time(value: object) -> float | None:
    """Text in seconds, if it is `AMOUNTS` or `CLOCK`."""
    text = value.strip() if isinstance(value, str) and len(value) <= _LONGEST else ""
    if re.fullmatch(AMOUNTS, text):
        each = re.findall(_AMOUNT, text)
        return float(sum(Decimal(number) * Decimal(_UNITS[unit]) for number, unit in each))
    if re.fullmatch(CLOCK, text):
        days, _, rest = text.rpartition("-")
        parts = [int(one) for one in rest.split(":")]
        missing = [0] * (3 - len(parts))
        # Slurm's `1-12` has hours, and `30:00` minutes.
        hours, minutes, seconds = parts + missing if days else missing + parts
        return float(((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds)
    return None
