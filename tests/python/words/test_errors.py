"""What an error says, and what the process ends with."""

from __future__ import annotations

import pytest

from taskgrain.words.errors import InputError, Interrupted, OutputError, TaskgrainError, UsageError


@pytest.mark.parametrize(
    ("value", "shown"),
    [("x", "x"), ("", "''"), (7, "7"), (None, "None"), ("a\nb", r"'a\nb'"), ("\x1b[1m", r"'\x1b[1m'")],
)
def test_an_input_error_names_field_value_and_what_is_allowed_in_one_line(value: object, shown: str) -> None:
    error = InputError("--radix", value, "an integer at least 0")
    assert str(error) == f"--radix: {shown} is not allowed; allowed: an integer at least 0"
    assert (error.field, error.value, error.allowed) == ("--radix", value, "an integer at least 0")
    assert isinstance(error, ValueError)


def test_exit_codes() -> None:
    codes = {one: one("x").exit_code for one in (TaskgrainError, UsageError, OutputError, Interrupted)}
    assert codes == {TaskgrainError: 1, UsageError: 2, OutputError: 1, Interrupted: 130}
    assert InputError("x", 1, "2").exit_code == 2


def test_names_that_are_allowed_are_listed_and_the_nearest_is_asked_for() -> None:
    error = InputError("--system", "mpii", ["mpi", "tbb"])
    assert str(error) == "--system: mpii is not allowed; allowed: mpi, tbb. Did you mean mpi?"
    assert error.allowed == "mpi, tbb"
    assert str(InputError("--x", "zzz", ("a", "b"))) == "--x: zzz is not allowed; allowed: a, b"
