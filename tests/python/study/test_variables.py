"""Variables of `--env` and of a study's `env`: what is read, what is refused, and what systems are called."""

from pathlib import Path

import pytest

from taskgrain.study.study import Study, parse
from taskgrain.study.toml import loads
from taskgrain.study.variables import is_secret, of_options, suffix
from taskgrain.words.errors import InputError, UsageError


def study(env: str, more: str = "") -> Study:
    text = f'patterns = ["fft"]\nwidth = 4\nenv = {env}\n{more}'
    return parse(loads(text, Path("s.toml")), 2, ["omp", "mpi"])


def systems(one: Study) -> list[str]:
    return [cell.system for cell in one.cells(["omp", "mpi"])]


def test_options() -> None:
    assert of_options(["A=1", "B=x=y", "C=", "A=2"]) == {"A": "2", "B": "x=y", "C": ""}


@pytest.mark.parametrize("text", ["A", "=1", "", "1A=2", "A B=1", "TASKGRAIN_CORES=0"])
def test_bad_options(text: str) -> None:
    with pytest.raises(InputError, match=r"^--env: "):
        of_options([text])


def test_a_list_is_an_axis_of_systems() -> None:
    many = study('[{}, { A = "1" }, { B = "/usr/lib/x y.so", A = "" }]', 'exclude = [{ system = "mpi+A=1" }]')
    assert systems(many) == ["omp", "omp+A=1", "omp+A=+B=x_y.so", "mpi", "mpi+A=+B=x_y.so"]
    assert many.table(["omp"], 2)["env"] == [{}, {"A": "1"}, {"B": "/usr/lib/x y.so", "A": ""}]
    assert systems(study('[{}, { A = "1" }]', 'exclude = [{ system = "mpi" }]')) == ["omp", "omp+A=1"]


def test_a_table_is_for_all() -> None:
    assert systems(study('{ A = "1" }')) == ["omp+A=1", "mpi+A=1"]
    assert "env" not in study("{}").table(["omp"], 2)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ("[]", "s.toml:3:7: env: "),
        ('"A=1"', "s.toml:3:7: env: A=1 is not allowed; allowed: a table"),
        ("[{}, 1]", r"s.toml:3:12: env\[1\]: 1 is not allowed"),
        ("{ A = 1 }", "s.toml:3:13: env.A: 1 is not allowed; allowed: text"),
        ('[{ "1" = "x" }]', "1 is not allowed; allowed: letters"),
        ('[{ TASKGRAIN_CORES = "1" }]', "allowed: any other variable"),
        ('[{ A = "x/1" }, { A = "y/1" }]', r"env\[1\]: names systems like an earlier table"),
    ],
)
def test_bad_tables(env: str, words: str) -> None:
    with pytest.raises((InputError, UsageError), match=words):
        study(env)


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        *((one, "x", True) for one in ("HF_TOKEN", "DB_PASS", "RAY_AUTH", "APIKEY", "AWS_KEY", "S_KEY_ID")),
        ("DATABASE_URL", "postgres://u:pw@host/db", True),
        *((one, "x", False) for one in ("TOKENIZERS_PARALLELISM", "MY_KEYMAP", "OMP_WAIT_POLICY", "AUTHOR")),
        ("PROXY", "http://host:3128", False),
    ],
)
def test_secrets_are_in_no_name(name: str, value: str, secret: bool) -> None:
    assert is_secret(name, value) is secret
    assert (suffix({name: value}) == f"+{name}=secret") is secret
