"""The type of a field that a person may give: in a study file, on the command line, in a line of results.

A field is described once, by a `Field`: readers, flags, the JSON schema and pages of reference come from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from taskgrain.words import numbers
from taskgrain.words.errors import InputError

Type = Literal[
    "integer", "number", "bytes", "seconds", "flag", "durations", "text", "name", "names", "choice"
]
_METAVARS = {
    "integer": "N",
    "number": "X",
    "bytes": "BYTES",
    "seconds": "TIME",
    "durations": "TIME",
    "text": "FILE",
    "name": "NAME",
    "names": "NAMES",
    "choice": "NAME",
}
_LISTER = "taskgrain run --help"
"""The command that lists the choices."""
_NUMBER = r"[+-]?[0-9_.]+([eE][+-]?[0-9_]+)?"
_TEXTS = {
    "integer": rf"^\s*{_NUMBER}\s*$",
    "number": rf"^\s*{_NUMBER}\s*%?\s*$",
    "seconds": rf"^\s*({_NUMBER}|{numbers.AMOUNTS}|{numbers.CLOCK})\s*$",
    "bytes": r"^\s*[0-9.]+([eE][+]?[0-9]+)?\s*([KMGTkmgt](iB)?|B)?\s*$",
}
"""The texts that the reader of each type may take for a number; a regular expression of JSON schema."""
_DURATION = rf"\s*{numbers.AMOUNTS}\s*"
_DURATIONS = rf"^({_DURATION}(,{_DURATION})*)?$"


@dataclass(frozen=True)
class Field:
    name: str
    type: Type
    default: Any
    """None: it has none and must be given."""
    help: str
    """The meaning, in a sentence without its full stop."""
    low: float = 0
    high: float = math.inf
    above: bool = False
    """True if `low` itself is not allowed."""
    below: bool = False
    """True if `high` itself is not allowed."""
    choices: tuple[str, ...] = ()
    unit: str = ""
    of_kernel: bool = False
    stored_as: str = ""
    """Its name in the lines and tables of results, if another field of theirs has its own."""
    hint: Callable[[object], str] | None = None
    """Asks whether another name was meant by a value that is no choice; empty where nobody knows."""

    @property
    def column(self) -> str:
        """Its name in the lines and tables of results."""
        return self.stored_as or self.name

    @property
    def is_file(self) -> bool:
        """True if it names a file, which may be relative to the file or folder that says so."""
        return self.type == "text"

    @property
    def flag(self) -> str:
        """`output_bytes` as `--output-bytes`."""
        return flag(self.name)

    @property
    def metavar(self) -> str:
        """The word for the value in the help of the command line."""
        return _METAVARS.get(self.type, "")

    @property
    def text(self) -> str:
        """Describes the field and its allowed values, for help and pages."""
        if self.choices:
            return f"{self.help}; one of {', '.join(self.choices)}."
        if self.high < 2**31:
            between = " and below" if self.below else " to"
            return f"{self.help}, {'above ' if self.above else ''}{self.low:g}{between} {self.high:g}."
        return f"{self.help}."

    def read(self, value: object, named: str) -> Any:
        """The value, checked; text is read as on the command line.

        Raises `InputError`; `named` is what it calls the field.
        """
        match self.type:
            case "integer" | "bytes":
                read = numbers.integer if self.type == "integer" else numbers.size
                return read(value, named, low=int(self.low), high=int(min(self.high, numbers.LARGEST)))
            case "number":
                return numbers.real(
                    value, named, low=self.low, high=self.high, above=self.above, below=self.below
                )
            case "seconds":
                return numbers.seconds(value, named, low=self.low, above=self.above)
            case "durations":
                numbers.durations(value, named)
                return str(value)
            case "flag":
                return numbers.flag(value, named)
            case "text" | "name":
                return numbers.text(value, named)
            case "names":
                listed = value if isinstance(value, list) else [value]
                return ",".join(numbers.text(one, named) for one in listed)
            case "choice":
                if self.hint and value not in self.choices and (asked := self.hint(value)):
                    raise InputError(named, value, self.choices, _LISTER, asked)
                return numbers.text(value, named, self.choices, _LISTER)

    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"description": self.text}
        if self.default is not None:
            found["default"] = self.default
        match self.type:
            case "flag":
                return found | {"type": "boolean"}
            case "text" | "name":
                return found | {"type": "string"}
            case "names":
                return found | {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
            case "durations":
                return found | {"type": "string", "pattern": _DURATIONS}
            case "choice":
                return found | {"enum": list(self.choices)}
        number: dict[str, Any] = {"type": "integer" if self.type in ("integer", "bytes") else "number"}
        number["exclusiveMinimum" if self.above else "minimum"] = self.low
        high = numbers.LONGEST if self.type == "seconds" else self.high
        if high < math.inf:
            number["exclusiveMaximum" if self.below else "maximum"] = high
        return found | {"anyOf": [number, {"type": "string", "pattern": _TEXTS[self.type]}]}


def flag(name: str) -> str:
    """`output_bytes` as `--output-bytes`."""
    return "--" + name.replace("_", "-")
