"""Colours and shapes of the report: different for every eye."""

import math
import re

from taskgrain.drive import catalogue
from taskgrain.report import embed, look

# Machado, Oliveira and Fernandes, IEEE TVCG 15(6), 2009, linear RGB: protanopia, deuteranopia, tritanopia.
DEFICIENCIES = (
    ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
)


def lightness_and_hue(colour: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    """CIE L*a*b* of a colour as eyes with a deficiency see it."""
    srgb = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in srgb]
    r, g, b = (min(1.0, max(0.0, sum(m * c for m, c in zip(row, linear, strict=True)))) for row in matrix)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (one ** (1 / 3) if one > 0.008856 else 7.787 * one + 16 / 116 for one in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def palettes() -> list[list[str]]:
    """The palettes of paper and of the page: light, dark."""
    css = embed.resource("page.css")
    found = re.findall(r"--series-\d: (#[0-9a-f]{6})", css)
    count = len(look.PAPER.palette)
    return [list(look.PAPER.palette), found[:count], found[count:]]


def test_colours_or_shapes_differ_for_every_eye() -> None:
    for palette in palettes():
        assert len(palette) == len(look.PAPER.palette)
        for matrix in DEFICIENCIES:
            seen = [lightness_and_hue(colour, matrix) for colour in palette]
            for i, one in enumerate(seen):
                for j, other in enumerate(seen[:i]):
                    same_shape = look.style(i, look.PAPER).shape == look.style(j, look.PAPER).shape
                    # 2.3 is what an eye can just tell side by side; marks lie apart.
                    assert math.dist(one, other) > (20 if same_shape else 8), (palette[i], palette[j])


def test_there_are_more_looks_than_systems() -> None:
    looks = [look.style(place, look.PAPER) for place in range(420)]
    assert len({(one.colour, one.shape, *one.dash) for one in looks}) == 420
    marks = {(one.colour, one.shape) for one in looks[:84]}
    assert len(marks) == 84 > len(catalogue.discover()), "also of charts without lines"
    assert len({one.colour for one in looks[:7]}) == 7 and {one.dash[1] for one in looks[:7]} == {0}


def test_shapes_are_as_large_as_each_other() -> None:
    for shape in look.SHAPES:
        path = re.sub(r"A[^A-Za-z]*", "", shape)
        assert 0.75 <= max(abs(float(one)) for one in re.findall(r"-?\d*\.?\d+", path)) <= 1.06, shape
