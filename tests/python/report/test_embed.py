"""What makes the page one file: its blocks can hold any text, and only they may run."""

from __future__ import annotations

import base64
import gzip
import json
import math

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
