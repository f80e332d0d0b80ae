"""Texts from elsewhere, made safe for a page and a terminal."""

from __future__ import annotations

import json
import re

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def text(value: object) -> str:
    """A text without terminal colours and control characters; another value as JSON; nothing for null."""
    if value is None:
        return ""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _CONTROL.sub("\ufffd", _ANSI.sub("", shown.replace("\r\n", "\n").replace("\r", "\n")))
