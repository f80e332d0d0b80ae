"""A history as JUnit's XML, which CI servers show: one test case for each series."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from taskgrain.history.text import since, title, why
from taskgrain.history.trends import History, Trend

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML has no place for."""


def junit(history: History) -> str:
    """The document. A regression is a failure; a series with too few sessions is skipped."""
    cases = [_case(one, history) for one in history.trends]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(one.find("failure") is not None for one in cases)),
        "errors": "0",
        "skipped": str(sum(one.find("skipped") is not None for one in cases)),
    }
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "taskgrain history"} | counts)
    suite.extend(cases)
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode", xml_declaration=True) + "\n"


def _case(one: Trend, history: History) -> ElementTree.Element:
    names = {"classname": _legal(f"taskgrain.{one.series.system}"), "name": _legal(title(one.series))}
    case = ElementTree.Element("testcase", names | {"time": "0"})
    said = _legal(why(one, history))
    if one.regression:
        kind = one.verdict if one.verdict == "failed" else "slower"
        failure = ElementTree.SubElement(case, "failure", {"message": said, "type": kind})
        failure.text = "\n".join(_legal(since(change, history.question.by)) for change in one.changes) or said
    elif one.verdict == "too few sessions":
        ElementTree.SubElement(case, "skipped", {"message": said})
    else:
        ElementTree.SubElement(case, "system-out").text = said
    return case


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
