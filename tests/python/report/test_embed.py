"""Tests of what makes the page one file: its blocks can hold any text, and only they may run."""

import base64
import gzip
import json
import math
from pathlib import Path

import pytest
import vl_convert

from taskgrain.report import embed


def test_json_in_a_block_cannot_end_it() -> None:
    text = "</script><!-- & \u2028"
    block = str(embed.json_block({"x": text}))
    assert not {"<", ">", "&"} & set(block)
    assert json.loads(block) == {"x": text}


def test_numbers_that_json_does_not_know_are_null() -> None:
    assert json.loads(str(embed.json_block({"a": [math.inf, (math.nan, 1.0)]}))) == {"a": [None, [None, 1.0]]}


def test_packed_content_comes_out_as_it_was() -> None:
    content = b"\x00</script>" * 100
    packed = str(embed.packed(content))
    assert gzip.decompress(base64.b64decode(packed)) == content
    assert len(packed) < len(content)
    assert json.loads(gzip.decompress(base64.b64decode(str(embed.packed_json([1, math.nan]))))) == [1, None]


def test_the_libraries_are_a_script_that_cannot_end_its_block() -> None:
    assert "vegaEmbed" in embed.libraries()
    assert "</script" not in embed.libraries()


def test_the_libraries_are_built_once_and_a_cache_that_cannot_be_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def bundle(script: str, _: str) -> str:
        built.append(script)
        return "</script>é"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    (tmp_path / "file").touch()
    made = set()
    for cache in (tmp_path, tmp_path, tmp_path / "file" / "no folder"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        embed.libraries.cache_clear()
        made.add(embed.libraries())
    embed.libraries.cache_clear()
    assert len(built) == 2 and made == {"(() => {<\\/script>é})();"}
