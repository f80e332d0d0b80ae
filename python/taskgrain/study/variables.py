"""Environment variables that a person passes to drivers on purpose, and what systems with them are called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from taskgrain.study.toml import Document, Keys
from taskgrain.words import numbers
from taskgrain.words.errors import InputError, UsageError

Variables = Mapping[str, str]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN = ("TASKGRAIN_CORES", "TASKGRAIN_TREE")
"""The harness sets these for each driver."""
_SECRET = re.compile(
    r"TOKEN(?!IZ)|SECRET|PASS|AUTH(?!OR)|CREDENTIAL|COOKIE|JWT|API_?KEY|_KEY(_|$)", re.IGNORECASE
)
_WITH_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@")
_SHOWN = 60
"""Characters of a value in the name of a system."""
MOST = 1000
"""Characters of a value that are stored."""
SECRET = "(secret)"
"""The text that is stored in the place of a secret."""


def is_secret(name: str, value: str) -> bool:
    """Tells whether a variable looks like a secret."""
    return bool(_SECRET.search(name) or _WITH_PASSWORD.search(value))


def stored(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables as a results folder may hold them: without secrets, and not longer than `MOST`."""
    return {
        name: SECRET if is_secret(name, value) else value.encode("utf-8", "replace").decode()[:MOST]
        for name, value in sorted(variables.items())
    }


def check_name(name: str, named: str) -> str:
    """The name of a variable. Raises `InputError`."""
    if not _NAME.fullmatch(name):
        raise InputError(named, name, "letters, digits and _, with no digit at the start")
    return name


def _checked(name: str, value: str, named: str) -> tuple[str, str]:
    if check_name(name, named) in _OWN:
        raise InputError(named, name, "any other variable: taskgrain sets this one for each driver")
    if "\0" in value:
        raise InputError(named, value, "a text without a NUL")
    return name, value


def of_options(given: Sequence[str]) -> dict[str, str]:
    """Returns the variables of `--env NAME=VALUE`. Raises `InputError`."""
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise InputError("--env", one, "NAME=VALUE")
        name, found[name] = _checked(name, value, "--env")
    return found


def of_study(value: object, given: Document) -> tuple[Variables, ...]:
    """Returns the variables of a study's `env`: a table, or a list of tables that are compared. Raises
    `InputError`, and `UsageError` if two give systems the same names."""
    listed = isinstance(value, list)
    tables = value if isinstance(value, list) else [value]
    found: list[Variables] = []
    for n, table in enumerate(tables):
        at: Keys = ("env", n) if listed else ("env",)
        if not isinstance(table, dict):
            raise InputError(given.value(*at), table, "a table of variables, or a list of such tables")
        texts = {key: numbers.text(word, given.value(*at, key)) for key, word in table.items()}
        found.append(dict(_checked(key, word, given.key(*at, key)) for key, word in texts.items()))
        if suffix(found[-1]) in map(suffix, found[:-1]):
            raise UsageError(
                f"{given.value(*at)}: names systems like an earlier table of env: of a value the last part "
                "of a path counts, and not its signs; add a variable of any name that differs"
            )
    if not found:
        raise InputError(given.value("env"), "[]", "at least one table of variables")
    return tuple(found)


def suffix(variables: Variables) -> str:
    """Returns what is added to the name of a system that gets them: `+STARPU_SCHED=eager`; nothing for none.

    Of a path it is the last part, other signs that names do not have are `_`, and secrets are left out.
    """
    shown = (
        (name, "secret" if is_secret(name, value) else value.rstrip("/").rpartition("/")[2])
        for name, value in sorted(variables.items())
    )
    return "".join(f"+{name}={re.sub(r'[^A-Za-z0-9_.:=-]', '_', value)[:_SHOWN]}" for name, value in shown)
