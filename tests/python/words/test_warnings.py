"""Warnings: codes and values in the results, words for people."""

import json
import re
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.words.warnings import SENTENCES, WEIGHTS, Notice, grouped, notice, read_notice

DOCS = Path(__file__).parents[3] / "docs" / "reference"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def test_a_warning_is_put_into_words_with_its_values() -> None:
    said = notice("budget_before_crossing", granularity=1.234e-6, efficiency=0.123)
    assert said.text == (
        "The search ended before the crossing was found: tasks of 1.2 µs reached 12.3 %. Raise the budget."
    )
    many = notice("binding_outside", worker=3, processors=[4, 5], asked=list(range(20)))
    assert "on processors 4, 5, outside of 0, 1, 2, 3, 4, 5, 6, 7, …." in many.text


def test_shares_and_numbers_of_things_read_well() -> None:
    assert "took 7 % of the cores" in notice("run_disturbed", share=0.07).text
    assert "again (1 time)." in notice("driver_crashed", crashes=1).text
    assert "again (2 times)." in notice("driver_crashed", crashes=2).text
    assert "After 1 round the interval" in notice("rounds_before_precise", rounds=1, precision=0.1).text
    assert "within 10 % of METG" in notice("rounds_before_precise", rounds=1, precision=0.1).text


def test_a_line_of_the_results_gives_the_same_warning_again() -> None:
    said = notice("many_outliers", outliers=9, repeats=36, share=0.25, worst=50.0, round=1, iterations=64)
    line = json.loads(json.dumps(said.fields()))
    assert line["code"] == "many_outliers" and line["share"] == 0.25 and "text" not in line
    assert read_notice(line) == said
    assert said.shown() == line | {"text": said.text}


def test_a_warning_has_a_code() -> None:
    assert [read_notice(one) for one in ("words", 7, None, {})] == [None] * 4


def test_a_code_of_a_newer_version_is_shown_with_its_values() -> None:
    said = read_notice({"code": "from_the_future", "share": 0.5, "what": "x"})
    assert said is not None and said.text == "from_the_future (share 0.5, what x)"
    incomplete = read_notice({"code": "few_rounds", "rounds": 3})
    assert incomplete is not None and incomplete.text == "few_rounds (rounds 3)"


def test_a_code_that_is_not_in_the_table_is_a_mistake_of_the_program() -> None:
    with pytest.raises(AssertionError, match="no_such_code"):
        notice("no_such_code")


@given(st.sampled_from([*SENTENCES, "unknown"]), st.data())
def test_no_value_that_a_file_may_hold_breaks_the_words(code: str, data: st.DataObject) -> None:
    names = [name for _, name, _, _ in Formatter().parse(SENTENCES.get(code, "")) if name]
    said = read_notice({"code": code} | {name: data.draw(JSON) for name in names})
    assert said is not None and said.text


def test_cells_are_named_once_for_each_code() -> None:
    few = [notice("few_rounds", rounds=n, needed=6) for n in (3, 4)]
    found = grouped([("a", few[0]), ("b", few[1]), ("b", few[0]), ("a", Notice("new")), ("c", few[1])])
    assert [(one.text, one.cells) for one in found] == [(few[0].text, ("a", "b", "c")), ("new", ("a",))]


def test_only_codes_of_the_table_have_a_weight() -> None:
    assert WEIGHTS.keys() <= SENTENCES.keys()


@pytest.mark.parametrize("code", SENTENCES)
def test_every_sentence_ends_and_says_nothing_of_a_code(code: str) -> None:
    assert SENTENCES[code].endswith(".") and "_" not in re.sub(r"{.*?}", "", SENTENCES[code])


def test_the_page_of_failures_names_every_code() -> None:
    part = (DOCS / "failures.md").read_text("utf-8").partition("| code | what happened |")[2]
    assert sorted(re.findall(r"`([a-z_]+)`", part.partition("\n\n")[0])) == sorted(SENTENCES)
