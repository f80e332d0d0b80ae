"""Reads graphs in DOT, Graphviz's language (https://graphviz.org/doc/info/lang.html)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from taskgrain.graphs.task_graph import TaskGraph, made
from taskgrain.words.errors import InputError

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)|(?P<sign>->|--|[{}\[\]=;,:])"""
    r"""|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))|(?P<markup><)""",
    re.DOTALL | re.MULTILINE,
)
_TIMES = ("duration", "runtime", "time", "weight", "size")
"""Attributes of a node that writers of task graphs keep its time in, the first that it has."""


def read_dot(text: str) -> TaskGraph:
    """A directed graph. An edge a -> b says that b depends on a. Times are numbers in `duration`, `runtime`,
    `time`, `weight` or `size` of the nodes, whose unit no attribute says. Raises `InputError`."""
    reader = _Reader(list(_tokens(text)))
    reader.graph()
    found = {name: reader.times.get(name) for name in reader.nodes}
    return made("DOT", found, reader.before)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind (`sign`, `name`), text and place of each."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _wrong(text, at, "DOT")
        if match.lastgroup == "markup":  # a label in HTML, which has pairs of < and >
            depth, end = 1, at + 1
            while depth and end < len(text):
                depth += {"<": 1, ">": -1}.get(text[end], 0)
                end += 1
            if depth:
                raise _wrong(text, at, "a > for each <")
            yield "name", text[at:end], at
            at = end
            continue
        if match.lastgroup == "quoted":
            yield "name", match[0][1:-1].replace('\\"', '"').replace("\\\n", ""), at
        elif match.lastgroup != "skip":
            yield "sign" if match.lastgroup == "sign" else "name", match[0], at
        at = match.end()


def _wrong(text: str, at: int, allowed: str) -> InputError:
    line = text.count("\n", 0, at) + 1
    return InputError(f"line {line}", text[at : at + 40].partition("\n")[0], allowed)


@dataclass
class _Reader:
    """The statements of a graph, in the order of the file."""

    tokens: list[tuple[str, str, int]]
    at: int = 0
    nodes: dict[str, None] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    before: list[tuple[str, str]] = field(default_factory=list)

    def graph(self) -> None:
        words = []
        while self._next()[0] == "name":
            words.append(self._take())
        if "digraph" not in [one.lower() for one in words[:2]]:
            raise InputError("graph", " ".join(words), "digraph: dependences have a direction")
        self._expect("{")
        self._statements()
        if self.at < len(self.tokens):
            raise InputError("DOT", self._take(), "nothing after the graph")

    def _next(self) -> tuple[str, str]:
        return self.tokens[self.at][:2] if self.at < len(self.tokens) else ("sign", "the end")

    def _take(self) -> str:
        text = self._next()[1]
        self.at += 1
        return text

    def _is(self, sign: str) -> bool:
        """Takes the sign if it is the next."""
        if self._next() != ("sign", sign):
            return False
        self.at += 1
        return True

    def _expect(self, sign: str) -> None:
        if not self._is(sign):
            raise InputError("DOT", self._next()[1], sign)

    def _statements(self) -> dict[str, None]:
        """Reads until the closing brace. Returns the nodes that the statements name."""
        named: dict[str, None] = {}
        while not self._is("}"):
            if self._is(";") or self._is(","):
                continue
            if self._next() == ("sign", "the end"):
                raise InputError("DOT", "the end of the file", "a } for each {")
            named |= self._statement()
        return named

    def _statement(self) -> dict[str, None]:
        if self._next()[1].lower() in ("graph", "node", "edge") and self._peek(1) == "[":
            self._take()
            self._attributes()
            return {}
        if self._next()[0] == "name" and self._peek(1) == "=":
            self._take(), self._take(), self._take()
            return {}
        ends = self._ends()
        named = dict(ends)
        chained = False
        while self._is("->"):
            others = self._ends()
            self.before += [(other, one) for one in ends for other in others]
            ends, chained = others, True
            named |= ends
        attributes = self._attributes()
        if not chained:
            for name in ends:
                for key in _TIMES:
                    if key in attributes:
                        self.times[name] = self._time(name, attributes[key])
                        break
        return named

    def _peek(self, further: int) -> str:
        at = self.at + further
        return self.tokens[at][1] if at < len(self.tokens) and self.tokens[at][0] == "sign" else ""

    def _ends(self) -> dict[str, None]:
        """A node, or those of a subgraph."""
        if self._next()[1].lower() == "subgraph" and self._next()[0] == "name":
            self._take()
            if self._next()[0] == "name":
                self._take()
        if self._is("{"):
            return self._statements()
        kind, name = self._next()
        if kind != "name":
            raise InputError("DOT", name, "a node, or { of a subgraph")
        self._take()
        for _ in range(2):  # a port and a point of the compass
            if self._is(":"):
                self._take()
        self.nodes[name] = None
        return {name: None}

    def _attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._is("["):
            while not self._is("]"):
                kind, name = self._next()
                if kind != "name":
                    raise InputError("DOT", name, "an attribute, or ]")
                self._take()
                found[name.lower()] = self._take() if self._is("=") else "true"
                _ = self._is(",") or self._is(";")
        return found

    def _time(self, name: str, value: str) -> float:
        try:
            time = float(value)
        except ValueError:
            time = math.nan
        if not 0 <= time < math.inf:
            raise InputError(f"time of {name}", value, "a number from 0 on")
        return time
