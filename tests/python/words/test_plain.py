"""Texts from elsewhere, made safe."""

from taskgrain.results.lines import CellLine
from taskgrain.words.plain import cleaned


def test_every_text_of_a_line_is_made_safe() -> None:
    line = CellLine(cell="a\x07/\x1b[31mfft", workload={"ker\x00nel": "b\x9f"}, driver={"flags": ["-O\x00"]})
    found = cleaned(line)
    assert (found.cell, found.workload) == ("a\ufffd/fft", {"ker\ufffdnel": "b\ufffd"})
    assert found.driver == {"flags": ["-O\ufffd"]}
