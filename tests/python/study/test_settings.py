"""The settings of a study: what follows from what is given, and what is refused."""

from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskgrain.study.settings import SETTINGS, Settings, take_settings
from taskgrain.words.errors import InputError, UsageError


def take(**table: Any) -> Settings:
    return take_settings(table, "--{}".format)


def test_what_is_not_given_has_its_default() -> None:
    assert take() == Settings()
    assert take(steps="1e3", budget="2m") == replace(Settings(), steps=1000, budget=120.0)


def test_settings_are_taken_out_and_the_rest_is_left() -> None:
    table = {"repeats": 5, "pattern": "fft"}
    assert take_settings(table, str).repeats == 5
    assert table == {"pattern": "fft"}


def test_rounds_follow_one_another() -> None:
    assert take(max_rounds=3) == replace(Settings(), min_rounds=3, max_rounds=3)
    assert take(min_rounds=100) == replace(Settings(), min_rounds=100, max_rounds=100)
    assert take(min_rounds=3, max_rounds=3).max_rounds == 3
    with pytest.raises(InputError, match="--min_rounds: 9 is not allowed; allowed: 1 to 3, the value of max"):
        take(min_rounds=9, max_rounds=3)


@given(st.integers(1, 10_000) | st.none(), st.integers(1, 10_000) | st.none())
def test_rounds_are_in_order_or_refused(least: int | None, most: int | None) -> None:
    given = {"min_rounds": least, "max_rounds": most}
    given = {name: value for name, value in given.items() if value is not None}
    if least is not None and most is not None and most < least:
        with pytest.raises(InputError):
            take(**given)
        return
    made = asdict(take(**given))
    assert made["min_rounds"] <= made["max_rounds"]
    assert made | given == made, "what is given stays"


def test_the_table_has_every_setting_and_its_own_default_is_allowed() -> None:
    assert {name: one.default for name, one in SETTINGS.items()} == asdict(Settings())
    for name, one in SETTINGS.items():
        assert one.read(one.default, name) == one.default


@pytest.mark.parametrize("name", ["threshold", "first_iterations"])
def test_task_times_leave_nothing_to_what_is_for_metg(name: str) -> None:
    value = 0.8 if name == "threshold" else 100
    with pytest.raises(UsageError, match=f"{name}: is for METG, which at does not measure"):
        take_settings({"at": "20us", name: value}, str)
    stored = asdict(Settings(experiment="at", at="20us"))
    assert take_settings(stored, str).task_seconds == (20e-6,)
