"""Makes the page one file that loads nothing: embeds its scripts, its styles, its data, and their policy."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import json
import os
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import vl_convert
from markupsafe import Markup

from taskgrain.report import look
from taskgrain.results import whole_file
from taskgrain.words.errors import TaskgrainError
from taskgrain.words.plain import finite


@cache
def libraries() -> str:
    """Vega, Vega-Lite and vega-embed as one script that sets `window.vegaEmbed`.

    It takes about 2 s to build, so that it is kept in the user's cache for the next report.
    """
    cache_folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    kept = Path(cache_folder, "taskgrain", f"vega-{look.VEGALITE}-{version('vl-convert-python')}.js")
    with contextlib.suppress(OSError, UnicodeError):
        return kept.read_text("utf-8")
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", look.VEGALITE)
    # A module's names are its own; as a plain script they would be global.
    script = f"(() => {{{bundle}}})();".replace("</script", "<\\/script")
    with contextlib.suppress(OSError, TaskgrainError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        whole_file.write(kept, script.encode())
    return script


def resource(name: str) -> str:
    """A file of the page: a script, a style sheet, or a part of the template."""
    return files("taskgrain.report").joinpath("web", name).read_text("utf-8")


def policy(scripts: tuple[str, ...], style: str) -> str:
    """The policy by which only these blocks may run, and nothing may be fetched, framed or sent."""
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(block: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()}'"


def packed(content: bytes) -> Markup:
    """Content that the page unpacks only on demand: compressed with gzip, as base64."""
    return Markup(base64.b64encode(gzip.compress(content, 9, mtime=0)).decode())


def packed_json(value: object) -> Markup:
    """The same for JSON."""
    return packed(_dumped(value).encode())


def _dumped(value: object) -> str:
    return json.dumps(finite(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def json_block(value: object) -> Markup:
    """JSON that can stand in a script block: nothing in it can end the block or open a comment."""
    return Markup(_dumped(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
