"""Numbers as people write them, and what is refused."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskgrain.words import numbers
from taskgrain.words.errors import InputError


@pytest.mark.parametrize(
    ("text", "value"),
    [("1000", 1000), ("1e6", 10**6), ("1.5e3", 1500), (" 7 ", 7), ("1_000", 1000), (2.0, 2), (1e6, 10**6)],
)
def test_integers(text: object, value: int) -> None:
    assert numbers.integer(text, "x") == value


@pytest.mark.parametrize(
    "text", ["1.5", "1e-3", "", "x", "1e99", "9" * 30, "nan", "inf", "1e999999999", None, [], 0.5]
)
def test_bad_integers(text: object) -> None:
    with pytest.raises(InputError, match=r"x: .* is not allowed; allowed: an integer at least 0"):
        numbers.integer(text, "x")


NUMBERS = st.from_regex(r"[0-9]{0,20}(\.[0-9]{0,12})?([eE]\+?[0-9]{1,2})?", fullmatch=True)
UNITS = st.sampled_from(["", "B", *"KMGTkmgt", *(f"{one}iB" for one in "KMGTkmgt"), "KB", "iB", "x"])
BYTES = st.builds("{}{}{}".format, NUMBERS, st.sampled_from(["", " "]), UNITS) | st.text(max_size=8)


@settings(deadline=None)
@given(BYTES)
def test_the_core_reads_bytes_as_fractions_do(text: str) -> None:
    """The grammar of docs/reference/cli.md a second time: a regular expression and exact fractions."""
    grammar = r"(\d+\.?\d*|\.\d+)(?:[eE]\+?(\d+))?\s*(?:([KMGTkmgt])(?:iB)?|B)?"
    match = re.fullmatch(grammar, text.strip(), re.ASCII)
    expected = None
    if match and text.isascii():
        digits, exponent, unit = match.groups()
        exact = Fraction(digits) * 10 ** int(exponent or 0) * 1024 ** (" KMGT".index((unit or " ").upper()))
        expected = int(exact) if exact.denominator == 1 and exact <= numbers.LARGEST else None
    try:
        assert numbers.size(text, "x") == expected
    except InputError:
        assert expected is None


@pytest.mark.parametrize("text", ["64KB", "-1K", ""])
def test_bad_sizes(text: object) -> None:
    with pytest.raises(InputError, match=r"64KiB, 1M \(multiples of 1024; KB is not allowed\)"):
        numbers.size(text, "x")
    with pytest.raises(InputError, match="bytes, from 1 to 1024"):
        numbers.size("2K", "x", low=1, high=1024)


@pytest.mark.parametrize(("text", "value"), [("5%", 0.05), (" 12.5 %", 0.125), ("0.05", 0.05), (0, 0.0)])
def test_shares(text: object, value: float) -> None:
    assert numbers.share(text, "x") == pytest.approx(value)


@pytest.mark.parametrize("text", ["100%", "1", "-1%", "%", "5%%", "x", None, True, "5 percent"])
def test_bad_shares(text: object) -> None:
    with pytest.raises(InputError, match=r"a share from 0 to below 1, such as 0\.05 or 5%"):
        numbers.share(text, "x")


@settings(deadline=None)
@given(st.one_of(st.text(max_size=50), st.floats(), st.integers(), st.booleans(), st.none()))
def test_anything_is_a_number_or_a_named_error(value: object) -> None:
    for kind in (numbers.integer, numbers.real, numbers.size, numbers.seconds):
        try:
            assert kind(value, "field") >= 0
        except InputError as error:
            message = str(error)
        else:
            continue
        assert message.startswith("field: ")
        assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "value"), [("90", 90.0), ("90s", 90.0), ("1.5m", 90.0), ("2 h", 7200.0), (3, 3.0)]
)
def test_seconds(text: object, value: float) -> None:
    assert numbers.seconds(text, "x") == value


def test_ranges_are_named() -> None:
    for wrong in ("-1s", "0", "1d", "", "1e308h"):
        with pytest.raises(InputError, match="seconds above 0, such as 90, 90s, 10m, 2h"):
            numbers.seconds(wrong, "x")
    assert numbers.seconds("0", "x", above=False) == 0.0
    with pytest.raises(InputError, match="an integer from 1 to 3"):
        numbers.integer("4", "x", low=1, high=3)
    with pytest.raises(InputError, match="a number from 0 to 1"):
        numbers.real("1.01", "x", high=1.0)
    with pytest.raises(InputError, match="a number above 0 to 1"):
        numbers.real(0.0, "x", high=1.0, above=True)


def test_words_and_flags_are_taken_as_they_are() -> None:
    assert numbers.flag(True, "x") is True and numbers.text("auto", "x", ("auto", "avx2")) == "auto"
    with pytest.raises(InputError, match="x: 1 is not allowed; allowed: true or false"):
        numbers.flag(1, "x")
    with pytest.raises(InputError, match="x: fast is not allowed; allowed: auto, avx2"):
        numbers.text("fast", "x", ("auto", "avx2"))
    with pytest.raises(InputError, match="allowed: text"):
        numbers.text("two\nlines", "x")


@pytest.mark.parametrize(
    ("text", "value"),
    [("20us", 20e-6), ("20 µs", 20e-6), ("1.5ms", 1.5e-3), (" 500ns ", 500e-9), ("2s", 2.0), ("20μs", 20e-6)],
)
def test_durations_have_a_unit(text: str, value: float) -> None:
    assert numbers.is_duration(text)
    assert numbers.duration(text, "x") == value
    assert numbers.durations(f"{text},1h".replace("1h", "3s"), "x") == tuple(sorted({value, 3.0}))


@pytest.mark.parametrize("text", ["20", "0us", "-1us", "1e3us", "us", "", "9min", "٣us", "1.2.3us", 20, None])
def test_bad_durations(text: object) -> None:
    with pytest.raises(InputError, match=r"x: .* is not allowed; allowed: a time above 0 with its unit"):
        numbers.duration(text, "x")


def test_several_durations_ascend_and_come_once() -> None:
    assert numbers.durations("50us,20us,50us", "x") == (20e-6, 50e-6)
    assert numbers.durations("", "x") == ()
    assert not numbers.is_duration("1e3") and not numbers.is_duration(20)
    with pytest.raises(InputError, match="x: '' is not allowed"):
        numbers.durations("50us,", "x")


@pytest.mark.parametrize("value", [2.5e-9, 20e-6, 80e-6, 1e-3, 2.0, 1.25e-7])
def test_a_duration_is_written_as_it_is_read(value: float) -> None:
    text = numbers.duration_text(value)
    assert numbers.duration(text, "x") == pytest.approx(value, rel=1e-3) and "e" not in text


def test_what_is_too_large_is_told_the_upper_limit() -> None:
    with pytest.raises(InputError, match=r"allowed: an integer from 1 to 9223372036854775807$"):
        numbers.integer("1e19", "x", low=1)
    with pytest.raises(InputError, match=r"allowed: an integer from 1 to 1000000000$"):
        numbers.integer("2e9", "x", low=1, high=10**9)
