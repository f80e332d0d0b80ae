"""Values of a results folder: what makes sense is taken as it is, all else is none."""

import json
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.results import values

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**63 - 2, 2**63 + 2)
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)


@pytest.mark.parametrize(
    ("read", "taken", "refused"),
    [
        (values.text, ["", "a\nb", "é", "😀"], [None, 1, True, ["a"]]),
        (values.flag, [True, False], [None, 0, 1, "true"]),
        (values.integer, [0, 1, 2**63 - 1], [None, -1, 2**63, 1.0, "1", True, []]),
        (values.ordinal, [1, 10**6 - 1], [None, 0, -1, 10**6, 1.0, "1", True]),
        (
            values.number,
            [0, -1.5, 7, 1e39],
            [None, 1e308, -1e41, True, "1", math.nan, math.inf, -math.inf, 10**400, {}],
        ),
        (values.amount, [0, 0.0, 1e-300, 5], [-1e-300, -1, math.inf, False]),
        (values.positive, [1e-39, 5], [1e-41, 0, 0.0, -1, math.nan, True]),
        (values.share, [1e-9, 0.5, 0.999], [0, 0.0, 1e-215, 1, 1.0, -0.5, True, "0.5"]),
    ],
)
def test_what_is_taken_and_what_is_not(
    read: Callable[[object], object], taken: list[object], refused: list[object]
) -> None:
    assert [read(one) for one in taken] == taken
    assert [read(one) for one in refused] == [None] * len(refused)


def test_numbers_are_floats_and_integers_are_exact() -> None:
    assert type(values.number(7)) is type(values.amount(7)) is float
    assert values.integer(2**53 + 1) == 2**53 + 1


@given(JSON)
def test_any_value_of_json_is_of_its_kind_or_none(value: object) -> None:
    text, flag, integer = values.text(value), values.flag(value), values.integer(value)
    assert text is None or text.encode("utf-8").decode("utf-8") == text
    assert flag is None or flag is value
    assert integer is None or (0 <= integer < values.LARGEST and integer == value)
    for read in (values.number, values.amount, values.positive, values.share):
        found = read(value)
        assert found is None or (type(found) is float and math.isfinite(found))
    assert values.share(value) is None or values.positive(value) == values.share(value)
    assert values.positive(value) is None or values.amount(value) == values.positive(value)
    assert values.amount(value) is None or values.number(value) == values.amount(value)


@given(st.text(st.characters(codec="utf-8")))
def test_texts_stay_as_they_are(text: str) -> None:
    assert values.text(text) == text


@pytest.mark.parametrize(
    ("spelt", "read"),
    [
        (r'"\ud83d\ude00"', "😀"),
        (r'"a\ud83d"', "a\ufffd"),
        (r'"\ude00b"', "\ufffdb"),
        (r'"\ude00\ud83d"', "\ufffd\ufffd"),
        (r'"\ufeffa"', "\ufeffa"),
    ],
)
def test_halves_of_surrogate_pairs(spelt: str, read: str) -> None:
    assert values.text(json.loads(spelt)) == read
