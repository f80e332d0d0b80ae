"""Reads graphs in DOT, Graphviz's language (https://graphviz.org/doc/info/lang.html)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from taskgrain.graphs.task_graph import TaskGraph, amount, made
from taskgrain.words.errors import InputError

_TOKEN = re.compile(
    r"""(?P<skip>^[ \t]*\#[^\n]*|[ \t\r\f\v]+|\n|//[^\n]*|/\*.*?\*/)|(?P<sign>->|--|[{}\[\]=;,:+])"""
    r"""|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][+-]?\d+)?(?!\w))"""
    r"""|(?P<markup><)""",
    re.DOTALL | re.MULTILINE,
)
_TIMES = ("duration", "runtime", "time", "weight", "size")
"""Attributes of a node that writers of task graphs keep its time in, the first that it has."""
_END = ("sign", "the end of the file")
Nodes = dict[str, None]


def read_dot(text: str) -> TaskGraph:
    """A directed graph. An edge a -> b says that b depends on a. Times are numbers in `duration`, `runtime`,
    `time`, `weight` or `size` of the nodes, whose unit no attribute says. Raises `InputError`."""
    reader = _Reader(text, list(_tokens(text)))
    reader.graph()
    return made("DOT", {name: _time(name, one) for name, one in reader.nodes.items()}, reader.before)


def _time(name: str, attributes: dict[str, str]) -> float | None:
    return next((amount(attributes[key], f"time of {name}") for key in _TIMES if key in attributes), None)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind (`sign`, `word`, `quoted`), text and place of each."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _wrong(text, at, "a name, a number, a text in quotes, or a sign of DOT")
        kind, end = match.lastgroup, match.end()
        if kind == "markup":  # a label in HTML, which has pairs of < and >
            depth = 1
            while depth and end < len(text):
                depth += {"<": 1, ">": -1}.get(text[end], 0)
                end += 1
            if depth:
                raise _wrong(text, at, "a > for each <")
            yield "quoted", text[at:end], at
        elif kind == "quoted":
            yield "quoted", match[0][1:-1].replace('\\"', '"').replace("\\\n", ""), at
        elif kind in ("sign", "word"):
            yield kind, match[0], at
        at = end


def _wrong(text: str, at: int, allowed: str) -> InputError:
    found = text[at : at + 40].partition("\n")[0] or _END[1]
    return InputError(f"line {text.count(chr(10), 0, at) + 1}", found, allowed)


@dataclass
class _Reader:
    """The statements of a graph, in the order of the file."""

    text: str
    tokens: list[tuple[str, str, int]]
    at: int = 0
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    """The attributes of each."""
    defaults: dict[str, str] = field(default_factory=dict)
    """Attributes of the nodes that first appear in this scope."""
    subgraphs: dict[str, Nodes] = field(default_factory=dict)
    before: list[tuple[str, str]] = field(default_factory=list)

    def graph(self) -> None:
        words = [self._take() for _ in range(3) if self._next()[0] != "sign"]
        if "digraph" not in [one.lower() for one in words[:2]]:
            raise InputError("graph", " ".join(words), "digraph: dependences have a direction")
        self._expect("{")
        self._statements()
        if self.at < len(self.tokens):
            raise self._error("nothing after the graph")

    def _next(self, further: int = 0) -> tuple[str, str]:
        at = self.at + further
        return self.tokens[at][:2] if at < len(self.tokens) else _END

    def _error(self, allowed: str) -> InputError:
        at = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text)
        return _wrong(self.text, at, allowed)

    def _take(self) -> str:
        text = self._next()[1]
        self.at += 1
        return text

    def _name(self, allowed: str) -> str:
        """Takes a name; parts in quotes may be joined by +."""
        if self._next()[0] == "sign":
            raise self._error(allowed)
        name = self._take()
        while self._is("+"):
            name += self._take()
        return name

    def _is(self, sign: str) -> bool:
        """Takes the sign if it is the next."""
        if self._next() != ("sign", sign):
            return False
        self.at += 1
        return True

    def _word(self) -> str:
        """The next word in small letters; empty if it is none, or stands in quotes."""
        kind, text = self._next()
        return text.lower() if kind == "word" else ""

    def _expect(self, sign: str) -> None:
        if not self._is(sign):
            raise self._error(sign)

    def _statements(self) -> Nodes:
        """Reads until the closing brace. Returns the nodes that the statements name."""
        named: Nodes = {}
        outer, self.defaults = self.defaults, dict(self.defaults)
        while not self._is("}"):
            if self._is(";") or self._is(","):
                continue
            if self._next() == _END:
                raise self._error("a } for each {")
            named |= self._statement()
        self.defaults = outer
        return named

    def _statement(self) -> Nodes:
        if self._word() in ("graph", "node", "edge") and self._next(1) == ("sign", "["):
            of_nodes = self._take().lower() == "node"
            attributes = self._attributes()
            self.defaults |= attributes if of_nodes else {}
            return {}
        if self._next()[0] != "sign" and self._next(1) == ("sign", "="):
            self.at += 2
            self._name("a value")
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
                self.nodes[name] |= attributes
        return named

    def _ends(self) -> Nodes:
        """A node, or those of a subgraph."""
        name = None
        if self._word() == "subgraph":
            self._take()
            if self._next()[0] != "sign":
                name = self._take()
                if self._next() != ("sign", "{"):
                    return self.subgraphs.get(name, {})
        if self._is("{"):
            found = self._statements()
            if name is not None:
                self.subgraphs[name] = self.subgraphs.get(name, {}) | found
            return found
        name = self._name("a node, or { of a subgraph")
        for _ in range(2):  # a port and a point of the compass
            if self._is(":"):
                self._name("a port")
        self.nodes.setdefault(name, dict(self.defaults))
        return {name: None}

    def _attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._is("["):
            while not self._is("]"):
                name = self._name("an attribute, or ]")
                self._expect("=")
                found[name.lower()] = self._name("a value")
                _ = self._is(",") or self._is(";")
        return found
