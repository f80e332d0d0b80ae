"""The JSON schema of studies knows what the parser knows, and the reference says the same."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import docs_tables
import jsonschema
import pytest

from taskgrain._core import kernels, patterns
from taskgrain.study.fields import GIVEN
from taskgrain.study.schema import schema_text
from taskgrain.study.settings import SETTINGS, Settings
from taskgrain.study.study import RULE_KEYS, STUDY_KEYS, WORKLOAD_KEYS, parse
from taskgrain.study.toml import Document
from taskgrain.study.workload import Workload
from taskgrain.words.errors import InputError, UsageError

SCHEMA = json.loads(schema_text())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
VALIDATE, ISAS = SETTINGS["validate"].choices, SETTINGS["isa"].choices
ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs/reference/study.md"


def definition(one: dict[str, Any]) -> dict[str, Any]:
    return SCHEMA["definitions"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one  # type: ignore[no-any-return]


def parser_accepts(table: dict[str, Any]) -> bool:
    try:
        parse(Document(dict(table)), 2)
    except (InputError, UsageError):
        return False
    return True


def test_the_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def test_the_schema_has_the_parsers_keys() -> None:
    top = SCHEMA["properties"]
    assert sorted(top) == sorted(STUDY_KEYS)
    assert sorted(top["defaults"]["properties"]) == sorted(WORKLOAD_KEYS)
    assert sorted(top["workloads"]["items"]["properties"]) == sorted(WORKLOAD_KEYS)
    assert sorted(top["exclude"]["items"]["properties"]) == sorted(RULE_KEYS)
    assert sorted(SCHEMA["definitions"]) == sorted(GIVEN)


def test_the_schema_has_the_parsers_defaults_and_names() -> None:
    for key, value in asdict(Settings()).items():
        assert definition(SCHEMA["properties"][key])["default"] == value
    given = {key: one["default"] for key, one in SCHEMA["definitions"].items() if "default" in one}
    assert given.pop("tasks_per_core") == 1
    fields = Workload("", 0).fields()
    assert given == {key: value for key, value in fields.items() if key not in ("pattern", "width")}
    named = {key: SCHEMA["definitions"][key]["anyOf"][0]["enum"] for key in ("pattern", "kernel")}
    assert named == {"pattern": patterns(), "kernel": kernels()}
    assert SCHEMA["properties"]["validate"]["enum"] == list(VALIDATE)
    assert SCHEMA["properties"]["isa"]["enum"] == list(ISAS)


EDGES: list[Any] = [-1, 0, 1, 2, 3, 10_000, 10_001, 2**63 - 1, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 1e6, True]
EDGES += [[], {}, [{}], [0], [1.5], ["16", 32], ["fft", "dom"], ["fft", "no_such"], [True, False]]
EDGES += [{"pattern": "fft"}, {"radix": [1, 2]}, [{"system": "mpi", "tasks_per_core": [1, 8]}], [{"no": 1}]]
TEXTS = ["fft", "busy_wait", "0", "1", "3", "+5", " 7 ", "1_000", "1e3", "1E3", "0.5", ".5", "1.", "16B", "T"]
TEXTS += ["64K", "64k", "64 KiB", "16iB", "1.5m", "90s", "10m", "2 h", "-1", "", "off", "avx2", "all", "1X"]
TEXTS += ["5%", "50 %", "1h30m", "1-00:00:00", "30:00", "20us", "1d"]


@pytest.mark.parametrize("key", [*STUDY_KEYS, "system"])
def test_parser_and_schema_agree(key: str) -> None:
    """On values at the edges of what is allowed. The schema knows neither the range of a number in a text,
    nor what depends on the machine (`cores`), on another field (`neighbours`), or on a whole workload."""
    for value in [*EDGES, *TEXTS]:
        tables = [{"patterns": ["trivial"], key: value}] if key not in ("include", "system") else []
        if key in RULE_KEYS:
            tables += [{"patterns": ["trivial"], "exclude": [{key: value}]}]
        if key in WORKLOAD_KEYS:
            tables += [{"patterns": ["fft"], "defaults": {key: value}}]
            tables += [{"workloads": [{"pattern": "fft", key: value}]}]
        for table in tables:
            if VALIDATOR.is_valid(table):
                known = key not in ("cores", "neighbours", "workloads") and not isinstance(value, str)
                assert parser_accepts(table) or not known, table
            else:
                assert not parser_accepts(table), table


BAD: list[dict[str, Any]] = [
    {"pattern": "fft"},
    {"widths": [1], "tasks_per_core": 1},
    {"budget": "soon"},
    {"output_bytes": "1X"},
    {"validate": "maybe"},
    {"kernel": "no_such"},
    {"workloads": {"pattern": "fft"}},
    {"workloads": [{"pattern": "fft", "patterns": ["fft"]}]},
    {"workloads": [{"pattern": "fft", "widths": [1], "width": 1}]},
    {"workloads": [{"pattern": "fft", "width": 1, "tasks_per_core": 1}]},
    {"defaults": {"patterns": ["fft"], "pattern": "fft"}},
    {"defaults": {"width": 1, "tasks_per_core": 1}},
]


@pytest.mark.parametrize("table", BAD, ids=json.dumps)
def test_both_refuse(table: dict[str, Any]) -> None:
    table = {"patterns": ["trivial"]} | table
    assert not VALIDATOR.is_valid(table)
    assert not parser_accepts(table)


def test_an_included_file_has_a_name() -> None:
    for value, right in (("a.toml", True), (["a.toml", "b.toml"], True), (3, False), ("", False)):
        assert VALIDATOR.is_valid({"patterns": ["trivial"], "include": value}) == right


def test_the_top_level_takes_pattern_too() -> None:
    for table in ({"pattern": ["fft", "dom"], "width": 4}, {"patterns": "fft", "widths": [4]}):
        assert VALIDATOR.is_valid(table)
        assert parser_accepts(table)


def test_the_reference_shows_every_field() -> None:
    text = docs_tables.on_page_markdown(REFERENCE.read_text("utf-8"))
    assert "<!-- the" not in text
    for one in (*SETTINGS.values(), *GIVEN.values()):
        default = "" if one.default is None else f"`{json.dumps(one.default)}`"
        assert f"| `{one.name}` | {default} | {one.text} |" in text


@pytest.mark.parametrize("file", sorted((ROOT / "studies").rglob("*.toml")), ids=lambda file: str(file.name))
def test_studies_name_the_schema(file: Path) -> None:
    first = file.read_text("utf-8").splitlines()[0]
    assert first.startswith("#:schema ")
    named = file.parent / first.removeprefix("#:schema ")
    assert named.resolve() == ROOT / "studies/study.schema.json", "which `make setup` writes"
