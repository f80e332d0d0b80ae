"""Numbers as people write them: `1e6` is a million, `1.5` is no integer, `64K` is 65536 bytes.

Text comes from the command line, values from a study file; both end here, so that both accept the same.
Every function raises `InputError`, which names the field, the value and what is allowed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from taskgrain import _core
from taskgrain.words.errors import InputError

LARGEST = 2**63 - 1
"""The largest integer of the driver protocol."""

_UNITS = {"ns": -9, "us": -6, "µs": -6, "μs": -6, "ms": -3, "s": 0}
"""Of time, as powers of ten of a second."""
_DURATION = re.compile(r"(?P<number>[0-9.]+?)\s*(?P<unit>ns|us|µs|μs|ms|s)")
_LONGEST = 40  # no number that fits is longer, and Decimal("1e999999999") must not be made an int


def _range(low: float, high: float, what: str, *, above: bool = False, below: bool = False) -> str:
    bound = f"above {low:g}" if above else f"at least {low:g}"
    if below:
        return f"{what} {bound} and below {high:g}"
    if math.isinf(high) or high >= LARGEST:
        return f"{what} {bound}"
    return f"{what} {'above' if above else 'from'} {low:g} to {high:g}"


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
    """A finite number from `low` (excluded if `above`) to `high` (excluded if `below`)."""
    allowed = _range(low, high, "a number", above=above, below=below)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(field, value, allowed)
    if isinstance(value, str) and not value.isascii():  # other scripts' digits
        raise InputError(field, value, allowed)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise InputError(field, value, allowed) from None
    outside = not low <= number <= high or (above and number == low) or (below and number == high)
    if not math.isfinite(number) or outside:
        raise InputError(field, value, allowed)
    return number


def share(value: object, field: str, *, high: float = 1.0) -> float:
    """A share from 0 to below `high`: a number, or text such as `0.05` or `5%`."""
    hundred = isinstance(value, str) and value.strip().endswith("%")
    number = value.strip()[:-1] if hundred and isinstance(value, str) else value
    try:
        return real(real(number, field) / (100.0 if hundred else 1.0), field, high=high, below=True)
    except InputError:
        raise InputError(field, value, f"a share from 0 to below {high:g}, such as 0.05 or 5%") from None


def size(value: object, field: str, *, low: int = 0, high: int = LARGEST) -> int:
    """Bytes: an integer, or text such as `64K`, `64KiB`, `1M`; the core reads text, as for drivers."""
    if not isinstance(value, str):
        return integer(value, field, low=low, high=high)
    allowed = (
        _range(low, high, "bytes,") + ", such as 4096, 64K, 64KiB, 1M (multiples of 1024; KB is not allowed)"
    )
    found = _core.byte_count(value) if value.isascii() else None
    if found is None or not low <= found <= high:
        raise InputError(field, value, allowed)
    return found


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
    """Whether a text is a number with a unit of time, such as `20us`, whatever the number."""
    return isinstance(value, str) and _DURATION.fullmatch(value.strip()) is not None


def duration(value: object, field: str) -> float:
    """The time of a task, in seconds: text with a unit, such as `20us`, `1.5ms`, `500 ns`, `2s`; above 0."""
    allowed = "a time above 0 with its unit, such as 500ns, 20us, 1.5ms, 2s"
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or not match["number"].isascii() or len(str(value)) > _LONGEST:
        raise InputError(field, value, allowed)
    try:
        return real(f"{match['number']}e{_UNITS[match['unit']]}", field, above=True)
    except InputError:
        raise InputError(field, value, allowed) from None


def durations(value: object, field: str) -> tuple[float, ...]:
    """Times of tasks from text with commas, ascending, each once: `50us,20us`. None from an empty text."""
    words = value.split(",") if isinstance(value, str) else [value]
    return tuple(sorted({duration(word, field) for word in words})) if value != "" else ()


def duration_text(value: float) -> str:
    """Seconds as a text that `duration` reads, to a picosecond: `2500ns`."""
    return f"{value * 1e9:.3f}".rstrip("0").rstrip(".") + "ns"


def seconds(value: object, field: str, *, low: float = 0.0, above: bool = True) -> float:
    """Seconds: a number, or text such as `90`, `90s`, `10m`, `2h`."""
    factor = 1.0
    number = value
    if isinstance(value, str) and value.strip()[-1:] in ("s", "m", "h"):
        factor = {"s": 1.0, "m": 60.0, "h": 3600.0}[value.strip()[-1]]
        number = value.strip()[:-1]
    try:
        return real(real(number, field, low=low, above=above) * factor, field)
    except InputError:
        bound = f"above {low:g}" if above else f"at least {low:g}"
        raise InputError(field, value, f"seconds {bound}, such as 90, 90s, 10m, 2h") from None
