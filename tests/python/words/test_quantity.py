"""Tests of numbers with their units and intervals as they are shown."""

import pytest

from taskgrain.words import quantity
from taskgrain.words.interval import Interval


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (4.1e-7, 3.9e-7, 4.4e-7, "0.41 µs (0.39 – 0.44)"),
        (4.1e-7, 4.04e-7, 4.16e-7, "410 ns (404 – 416)"),
        (1.2e-7, 1.1e-7, 1.3e-7, "120 ns (110 – 130)"),
        (8.5e-5, 8.49e-5, 8.52e-5, "85.0 µs (84.9 – 85.2)"),
        (9.996e-7, 9.9e-7, 1.01e-6, "1.00 µs (0.99 – 1.01)"),
        (1.2e-8, 1.2e-8, 1.2e-8, "12.0 ns (12.0 – 12.0)"),
        (4e-7, 1e-7, 5e-6, "0.40 µs (0.10 µs – 5 µs)"),
        (1.3e-7, 9e-9, 2e-7, "0.13 µs (9 ns – 0.20 µs)"),
        (2.8e-6, 2.6e-6, 1e-4, "2.8 µs (2.6 µs – 0.1 ms)"),
        (4e-7, 1e-9, 5e-2, "0.40 µs (1 ns – 0.05 s)"),
        (4e-7, None, 5e-2, "0.40 µs (? – 0.05 s)"),
        (2.5, 2.4, 2.6, "2.50 s (2.40 – 2.60)"),
        (1.23e-6, None, None, "1.23 µs"),
        (1.96e-7, None, 2.56e-7, "0.20 µs (? – 0.26)"),
        (1.96e-7, 3.4e-8, None, "196 ns (34 – ?)"),
        (None, None, None, "–"),
    ],
)
def test_interval(value: float | None, low: float | None, high: float | None, shown: str) -> None:
    assert quantity.interval(Interval(value, low, high)) == shown


def test_quantities() -> None:
    assert [quantity.seconds(one) for one in (1.234e-6, 9.997e-7, 45e-3, 1.2e-11, 1234.0, 0.0)] == [
        "1.23 µs", "1.00 µs", "45.0 ms", "0.0120 ns", "1230 s", "0.00 s",
    ]  # fmt: skip
    assert [quantity.rate(one, "flop") for one in (5.123e10, 9.9999e8, 3.0)] == [
        "51.2 GFLOP/s", "1.00 GFLOP/s", "3.00 FLOP/s",
    ]  # fmt: skip
    assert quantity.rate(12.34e9, "byte") == "12.3 GB/s"
    assert [quantity.ratio(one) for one in (1.26, 34.2, 9.99, 871234.0)] == [
        "1.3 ×",
        "34 ×",
        "10 ×",
        "870 000 ×",
    ]
    assert [quantity.size(one) for one in (16, 65536, 1023 * 2**20, 1536 * 2**20)] == [
        "16 B", "64 KiB", "1023 MiB", "1.5 GiB"
    ]  # fmt: skip
    assert quantity.percent(0.5) == "50 %"


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (1.3, 1.21, 1.42, "1.30 (1.21 – 1.42)"),
        (1.3, None, 1.42, "1.30 (? – 1.42)"),
        (34.0, 28.0, 41.0, "34 (28 – 41)"),
        (1.3, None, None, "1.3 ×"),
        (None, None, None, "–"),
        (None, 1.5, None, "above 1.5 ×"),
        (None, None, 0.5, "below 0.50 ×"),
        (None, 0.8, 1.04, "0.80 – 1.04"),
    ],
)
def test_ratio_interval(value: float | None, low: float | None, high: float | None, text: str) -> None:
    assert quantity.ratio_interval(Interval(value, low, high)) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.62, 0.58, 0.66, "62 % (58 – 66)"),
        (0.987, 0.984, 0.99, "98.7 % (98.4 – 99.0)"),
        (0.62, None, 0.66, "62 % (? – 66)"),
        (0.62, None, None, "62 %"),
        (0.15, 0.004, 0.996, "15 %"),
        (0.15, None, 1.0, "15 %"),
        (0.15, 0.01, 1.0, "15 % (1 – 100)"),
        (None, None, None, "–"),
    ],
)
def test_percent_interval(value: float | None, low: float | None, high: float | None, text: str) -> None:
    assert quantity.percent_interval(Interval(value, low, high)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.5, "2.5"), (3.0, "3"), (999.4, "999"), (999.6, "1000"), (1e5, "100000"), (1.5e12, "1500000000000")],
)
def test_a_mean_has_no_exponent(value: float, text: str) -> None:
    assert quantity.mean(value) == text


def test_a_part_of_things_is_none_or_all_only_where_it_is_so() -> None:
    shares = (None, 0.0, 0.001, 0.5, 0.999, 1.0)
    assert [*map(quantity.part, shares)] == ["–", "0 %", "under 1 %", "50 %", "over 99 %", "100 %"]
