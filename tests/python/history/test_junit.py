"""JUnit's XML: what a CI server reads."""

from pathlib import Path
from xml.etree import ElementTree

import history_store as made

from taskgrain.history.junit import junit


def test_one_case_for_each_series(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((18, 1.0), (8, 1.2)))
    made.grown(path, [*made.scattered((20, 1.0)), None], "limit")
    made.grown(path, made.scattered((20, 1.0)), "openmp_for")
    made.grown(path, [1e-6], machine="ffff0000")
    root = ElementTree.fromstring(junit(made.history(path)))
    (suite,) = root
    counts = {"tests": "4", "failures": "2", "errors": "0", "skipped": "1"}
    assert counts.items() <= root.attrib.items() and counts.items() <= suite.attrib.items()
    cases = {(case.get("classname"), case.get("name")): next(iter(case)) for case in suite}
    assert len(cases) == 4, "no two cases have one name"
    slower = cases["taskgrain.mpi", "stencil_1d/width=4"]
    assert (slower.tag, slower.get("type")) == ("failure", "slower")
    assert "times as large since c18" in slower.get("message", "")
    assert cases["taskgrain.limit", "stencil_1d/width=4"].get("type") == "failed"
    assert cases["taskgrain.openmp_for", "stencil_1d/width=4"].tag == "system-out"
    (other,) = [case for (_, name), case in cases.items() if "other machine" in (name or "")]
    assert other.tag == "skipped"


def test_what_xml_has_no_place_for_is_replaced(tmp_path: Path) -> None:
    path = made.grown(tmp_path / "h.jsonl", made.scattered((18, 1.0), (8, 1.2)))
    text = path.read_text().replace('"label": "c18"', r'"label": "<b>\u0001\ud800</b>"')
    path.write_text(text)
    root = ElementTree.fromstring(junit(made.history(path)))
    assert "<b>\ufffd\ufffd</b>" in root[0][0][0].get("message", "")
