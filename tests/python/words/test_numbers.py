"""Numbers as people write them, and what is refused."""

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
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
    "text", ["1.5", "1e-3", "", "x", "50%", "1e99", "9" * 30, "nan", "inf", "1e999999999", None, [], 0.5]
)
def test_bad_integers(text: object) -> None:
    with pytest.raises(InputError, match=r"x: .* is not allowed; allowed: an integer at least 0"):
        numbers.integer(text, "x")


NUMBERS = st.from_regex(r"[0-9]{0,20}(\.[0-9]{0,12}){0,2}([eE][+-]?[0-9.]{1,2})?", fullmatch=True)
UNITS = st.sampled_from(["", "B", *"KMGTkmgt", *(f"{one}iB" for one in "KMGTkmgt"), "KB", "iB", "x"])
BYTES = st.builds("{}{}{}".format, NUMBERS, st.sampled_from(["", " "]), UNITS) | st.text(max_size=8)


@given(BYTES)
@example("1.5")
@example("20e-1")
@example("1e1.")
@example("-0")
@example("inf")
@example("8388607.5G")
@example("8388608G")
@example("1e400")
@example("9007199254740993")
@example("9007199254740993 B")
@example("9223372036854775807")
@example("9223372036854775808")
def test_the_core_reads_bytes_as_python_does(text: str) -> None:
    """The grammar of docs/reference/cli.md a second time: a regular expression and Python's numbers."""
    grammar = r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:([KMGTkmgt])(?:iB)?|B)?"
    match = re.fullmatch(grammar, text.strip(), re.ASCII)
    expected = None
    if match and text.isascii():
        number, unit = match.groups()
        whole = re.fullmatch(r"\d+", text.strip(), re.ASCII)
        found = float(number) * 1024.0 ** " KMGT".index((unit or " ").upper())
        expected = int(found) if found.is_integer() and found < 2**53 else None
        if whole and int(number) < 2**63:
            expected = int(number)
    try:
        assert numbers.size(text, "x") == expected
    except InputError:
        assert expected is None


@given(st.integers(0, 10_000))
def test_a_percentage_is_the_number_nearest_to_it(hundredths: int) -> None:
    text = f"{hundredths // 100}.{hundredths % 100:02}"
    assert numbers.real(f"{text} %", "x") == float(Fraction(text) / 100)


@pytest.mark.parametrize("text", ["100%", "1", "-1%", "%", "5%%", "x", None, True, "5 percent", "٣%"])
def test_bad_percentages(text: object) -> None:
    with pytest.raises(InputError, match=r"a number at least 0 and below 1, such as 0\.05 or 5%"):
        numbers.real(text, "x", high=1.0, below=True)


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


TIMES = {
    **{"90": 90, "1e2": 100, "90s": 90, " 1.5m ": 90, "2 h": 7200, "1d": 86400, "10min": 600, "20us": 2e-5},
    **{"1h30m": 5400, "1h 30 min": 5400, "1d12h": 129600, "1m0.5s": 60.5, "1e3us": 1e-3},
    **{"30:00": 1800, "1:30": 90, "1:30:00": 5400, "90:00": 5400, "1-12": 129600, "1-00:00:00": 86400},
    **{"1-2:30": 95400, "0-0:0:1": 1},
}


@pytest.mark.parametrize(("text", "value"), TIMES.items())
def test_seconds(text: str, value: float) -> None:
    assert numbers.seconds(text, "x") == value
    if text.strip().isdigit() or text == "1e2":
        with pytest.raises(
            InputError, match="above 0 to 365d with its unit, such as 30m, 2h, 1d, 1-00:00:00"
        ):
            numbers.seconds(text, "x", with_unit=True)
    else:
        assert numbers.seconds(text, "x", with_unit=True) == value
    assert numbers.is_duration(text) == (text.strip()[-1].isalpha())


def test_ranges_are_named() -> None:
    for wrong in ("-1s", "0", "1w", "", "1e308h", "5%", "1:60", "1:2:3:4", "1-", "1-2-3", "h", "1h30"):
        with pytest.raises(InputError, match=r"a time above 0 to 365d, such as 90, 10m, 2h, 1d, 1-00:00:00$"):
            numbers.seconds(wrong, "x")
    with pytest.raises(InputError, match=r"a time from 120s to 1000000s, such as"):
        numbers.seconds("60", "x", low=120, high=1e6, above=False)
    for long in ("366d", 1e300, "1e9h"):
        with pytest.raises(InputError, match=r"a time above 0 to 365d, such as"):
            numbers.seconds(long, "x")
    with pytest.raises(InputError, match=r"a time above 0 to 365d with its unit, such as 500ns"):
        numbers.duration("1e9d", "x")
    with pytest.raises(InputError, match=r"bytes, from 0 to 2\^40, such as"):
        numbers.size("2T", "x", high=2**40)
    with pytest.raises(InputError, match=r"a number above 0 to 1e15, such as"):
        numbers.real(1e16, "x", high=1e15, above=True)
    assert numbers.seconds("0", "x", above=False) == 0.0
    with pytest.raises(InputError, match="an integer from 1 to 3"):
        numbers.integer("4", "x", low=1, high=3)
    with pytest.raises(InputError, match=r"a number at least 1$"):
        numbers.real("x", "patience", low=1.0)
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
    assert numbers.durations(f"{text},3s", "x") == tuple(sorted({value, 3.0}))


@pytest.mark.parametrize("text", ["20", "0us", "-1us", "us", "", "1:00", "1-12", "٣us", "1.2.3us", 20, None])
def test_bad_durations(text: object) -> None:
    with pytest.raises(
        InputError, match=r"x: .* is not allowed; allowed: a time above 0 to 365d with its unit"
    ):
        numbers.duration(text, "x")


@pytest.mark.parametrize("value", [2.5e-9, 20e-6, 80e-6, 1e-3, 2.0, 1.25e-7])
def test_a_duration_is_written_as_it_is_read(value: float) -> None:
    text = numbers.duration_text(value)
    assert numbers.duration(text, "x") == pytest.approx(value, rel=1e-3) and "e" not in text


def test_what_is_too_large_is_told_the_upper_limit() -> None:
    with pytest.raises(InputError, match=r"allowed: an integer from 1 to 9223372036854775807$"):
        numbers.integer("1e19", "x", low=1)
    with pytest.raises(InputError, match=r"allowed: an integer from 1 to 1000000000$"):
        numbers.integer("2e9", "x", low=1, high=10**9)
