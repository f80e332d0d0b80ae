"""Quantities as people read them: `0.41 µs (0.39 – 0.44)`, `51.2 GFLOP/s`, `64 KiB`.

Inside the harness every number is in SI units; only the edge (tables, reports) comes here. A number that is
not known (`None`) is shown as `NOTHING`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from taskgrain.words.interval import Interval

NOTHING = "–"
"""The sign in the place of a number that there is not."""

_TIME = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_SI = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"), (1e18, "E"))
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_WORK = {"flop": "FLOP", "byte": "B", "bytes": "B"}
_APART = 10.0
"""The factor from which on a bound far from a value is shown by itself."""
_FEWEST, _MOST = 2, 3  # significant digits of a value with an interval


def seconds(value: float | None, digits: int = 3) -> str:
    """A duration (seconds) to `digits` significant digits: `1.23 µs`, `45.0 ms`."""
    if value is None:
        return NOTHING
    place = _digits_place(value, digits)
    scale, unit = _time_unit(value, place)
    return f"{_fixed(value, scale, place)} {unit}"


def around(number: Interval) -> tuple[str, str]:
    """A duration and its interval (seconds), to the same place: `("0.41 µs", "0.39 – 0.44 µs")`.

    A bound that is not known is a question mark.

    The interval's width says how many digits mean something: two digits of the width if it starts below 3.5,
    else one (the rule of the Particle Data Group), but two or three digits of the value.
    """
    value, low, high = number.value, number.low, number.high
    if value is None or (low is None and high is None):
        return seconds(value), NOTHING
    if (low or value) * _APART < value or value * _APART < (high or value):
        # One place for all of them would show zeros, or digits that mean nothing.
        return seconds(value, 2), " – ".join(_bound(one, value) for one in (low, high))
    place = _place(value, value if low is None else low, value if high is None else high)
    scale, unit = _time_unit(value, place)
    span = " – ".join("?" if one is None else _fixed(one, scale, place) for one in (low, high))
    return f"{_fixed(value, scale, place)} {unit}", f"{span} {unit}"


def interval(number: Interval) -> str:
    """A duration with its interval (seconds): `0.41 µs (0.39 – 0.44)`."""
    middle, span = around(number)
    if span == NOTHING:
        return middle
    unit = f" {span.rsplit(' ', 1)[-1]}"
    shared = " " not in span.split(" – ")[0] and middle.endswith(unit)
    return f"{middle} ({span.removesuffix(unit) if shared else span})"


def _bound(one: float | None, value: float) -> str:
    """Shows a bound: round if far from the value, else so that it does not shut the value out."""
    if one is None:
        return "?"
    return seconds(one, 1 if max(one, value) > _APART * min(one, value) else 2)


def rate(value: float | None, unit: str, digits: int = 3) -> str:
    """Work per second, `unit` as in the results (`flop`, `byte`): `51.2 GFLOP/s`, `12.3 GB/s`."""
    if value is None:
        return NOTHING
    place = _digits_place(value, digits)
    value = round(value, -place)
    scale, prefix = next((one for one in reversed(_SI) if abs(value) >= one[0]), _SI[0])
    return f"{_fixed(value, scale, place)} {prefix}{rate_unit(unit)}"


def work(value: float | None, unit: str, digits: int = 3) -> str:
    """An amount of work: `10.6 kFLOP`."""
    return rate(value, unit, digits).removesuffix("/s")


def rate_unit(unit: str) -> str:
    """The unit of a rate of work: `flop` makes `FLOP/s`."""
    return f"{_WORK.get(unit, unit or 'units')}/s"


def percent(value: float | None, digits: int = 0) -> str:
    """A share: 0.5 makes `50 %`."""
    return NOTHING if value is None else f"{100 * value:.{digits}f} %"


def part(value: float | None) -> str:
    """A share of things that never rounds to none or all where it is neither: `over 99 %`."""
    if value is not None and 0.0 < value < 0.005:
        return "under 1 %"
    return "over 99 %" if value is not None and 0.995 <= value < 1.0 else percent(value)


def percent_interval(share: Interval) -> str:
    """A share with its interval: `62 % (58 – 66)`; a bound that is not known is a question mark.

    With one decimal where the whole interval would be one number. Bounds that say nothing are left out.
    """
    value, low, high = share.value, share.low, share.high
    if value is None or _says_nothing(share):
        return percent(value)
    digits = 1 if low is not None and high is not None and high - low < 0.02 else 0
    span = " – ".join("?" if one is None else f"{100 * one:.{digits}f}" for one in (low, high))
    return f"{percent(value, digits)} ({span})"


def about_percent(share: Interval) -> str:
    """The same; without an interval that says something `about 62 %`."""
    return "about " * (share.value is not None and _says_nothing(share)) + percent_interval(share)


def _says_nothing(share: Interval) -> bool:
    """Tells whether a share may be anything from nothing to all, as it would be shown."""
    low, high = share.ends
    return low < 0.005 and high >= 0.995


def counted(number: int, noun: str) -> str:
    """A number of things: `1 cell`, `2 cells`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Some names, at least one: `a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def mean(value: float) -> str:
    """A mean number of things, to three digits or to the whole: `2.5`, `100000`."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def ratio(value: float | None) -> str:
    """Shows a factor to two digits: `1.3 ×`, `34 ×`, `870 000 ×`."""
    if value is None:
        return NOTHING
    text = _fixed(value, 1.0, _digits_place(value, 2))
    return f"{int(text):,} ×".replace(",", " ") if text.isdigit() else f"{text} ×"


def ratio_interval(number: Interval) -> str:
    """Shows a factor with its interval: `1.30 (1.21 – 1.42)`; a bound that is not known is a
    question mark. Without a value, the bounds that there are: `0.90 – 1.10`, `above 1.5 ×`."""
    value, low, high = number.value, number.low, number.high
    if value is None and low and high:
        place = _place(high, low, high)
        return " – ".join(_fixed(one, 1.0, place) for one in (low, high))
    if value is None and (low or high):
        return f"above {ratio(low)}" if low else f"below {ratio(high)}"
    if value is None or (low is None and high is None):
        return ratio(value)
    place = _place(value, value if low is None else low, value if high is None else high)
    span = " – ".join("?" if one is None else _fixed(one, 1.0, place) for one in (low, high))
    return f"{_fixed(value, 1.0, place)} ({span})"


def size(value: int | None) -> str:
    """Bytes, multiples of 1024: `16 B`, `64 KiB`, `1.5 GiB`."""
    if value is None:
        return NOTHING
    power = 0
    while abs(value) >= 1024 ** (power + 1) and power + 1 < len(_BINARY):
        power += 1
    number = value / 1024**power
    return f"{number:.{3 if number < 999.5 else 4}g} {_BINARY[power]}" if power else f"{value} B"


def _exponent(value: float) -> int:
    """The decimal exponent of the first significant digit."""
    return math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0


def _digits_place(value: float, digits: int) -> int:
    """The decimal exponent of the last of `digits` significant digits."""
    place = _exponent(value) + 1 - digits
    # 999.7 to three digits is 1.00e3: look again once the number is rounded.
    return max(place, _exponent(round(value, -place)) + 1 - digits)


def _place(value: float, low: float, high: float) -> int:
    """The decimal exponent of the last digit worth showing."""
    width = high - low
    place = _digits_place(value, _MOST)
    if width > 0:
        two_digits = width / 10 ** _exponent(width) < 3.5
        place = max(place, _exponent(width) - (1 if two_digits else 0))
    smallest = min(abs(one) for one in (value, low) if one) if value or low else 0.0
    return max(min(place, _exponent(smallest) + 1 - _FEWEST), _digits_place(value, _MOST))


def _time_unit(value: float, place: int) -> tuple[float, str]:
    """The unit that makes `value` 1 to 1000, or the next if zeros would fill the places of unknown digits."""
    if not value:
        return _TIME[-1]
    size = abs(round(value, -place))
    start = max((i for i, (scale, _) in enumerate(_TIME) if size >= scale * (1 - 1e-9)), default=0)
    # 410 ns known to 10 ns is 0.41 µs: "410 ns" would claim a digit that is not known.
    if start + 1 < len(_TIME) and 10.0**place > _TIME[start][0] * 1.5:
        start += 1
    return _TIME[start]


def _fixed(value: float, scale: float, place: int) -> str:
    decimals = max(0, round(math.log10(scale)) - place)
    return f"{round(value, -place) / scale:.{decimals}f}"
