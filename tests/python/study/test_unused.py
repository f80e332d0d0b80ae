"""Fields that a pattern does not use, as the core shows them."""

import pytest

from taskgrain.study.fields import CORE
from taskgrain.study.unused import unused, unused_by_kernel, with_radix


@pytest.mark.parametrize(
    ("pattern", "ignored"),
    [
        ("stencil_1d", ["radix", "fraction"]),
        ("fft", ["radix", "fraction"]),
        ("nearest", ["fraction"]),
        ("spread", ["fraction"]),
        ("random_nearest", []),
        ("random", []),  # its draws depend on the radix
        ("dag", []),
        ("no such pattern", []),
    ],
)
def test_what_a_pattern_does_not_use(pattern: str, ignored: list[str]) -> None:
    assert unused(pattern, ["radix", "width", "fraction", "kernel"]) == ignored


def test_every_pattern_is_known() -> None:
    uses_radix = [one for one in CORE["pattern"].choices if not unused(one, ["radix"])]
    assert {"nearest", "spread", "random_nearest"} <= set(uses_radix)
    assert "trivial" not in uses_radix


def test_the_patterns_whose_radix_counts_dependences() -> None:
    assert with_radix() == ("nearest", "spread", "random_nearest", "random_spread")


def test_what_a_kernel_does_not_use() -> None:
    fields = ["imbalance", "persistent", "width"]
    unusing = [one for one in CORE["kernel"].choices if unused_by_kernel(one, fields) == fields[:2]]
    assert sorted(unusing) == sorted(set(CORE["kernel"].choices) - {"load_imbalance"})
    assert unused_by_kernel("no such kernel", fields) == []
