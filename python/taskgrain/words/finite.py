"""JSON has no number that is not finite, which Python reads (as `1e999`) and writes all the same."""

from __future__ import annotations

import math
from collections.abc import Mapping


def finite(value: object) -> object:
    """The same with None in the place of such numbers."""
    if isinstance(value, Mapping):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
