"""Reads graphs in DOT, Graphviz's language (https://graphviz.org/doc/info/lang.html)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from taskgrain.graphs.reading import wrong_at
from taskgrain.graphs.task_graph import TaskGraph, amount, made
from taskgrain.words.errors import InputError

_TOKEN = re.compile(
    r"""(?P<skip>^[ \t]*\#[^\n]*|[ \t\r\f\v]+|\n|//[^\n]*|/\*.*?\*/)|(?P<sign>->|--|[{}\[\]=;,:+])"""
    r"""|(?P<quoted>"(?:[^"\\]++|\\.)*+")|(?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][+-]?\d+)?(?!\w))"""
    r"""|(?P<markup><)""",
    re.DOTALL | re.MULTILINE,
)
_VALUE = r"""(?:[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][+-]?\d+)?(?!\w)|"[^"\\]*")"""
_PLAIN_NAME = r'(?!(?i:node|edge|graph|subgraph|digraph|strict)\b)([^\W\d]\w*|\d+(?!\w)|"[^"\\]*")'
_PLAIN = re.compile(
    rf"""\s*+{_PLAIN_NAME}(?:\s*+->\s*+{_PLAIN_NAME})?+"""
    rf"""(?:\s*+\[\s*+((?>[^\W\d]\w*+\s*+=\s*+{_VALUE}\s*+[,;]?\s*+)*+)\])?+"""
    r"""[ \t\r]*+(?:;|\n(?=\s*+[\w"}]))"""
)
"""Most statements of large files, each read at once: `a -> b;` and `a [duration=3];`."""
_ATTRIBUTE = re.compile(rf"([^\W\d]\w*)\s*=\s*({_VALUE})")
_NUMBER = re.compile(r"(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][+-]?\d+)?", re.ASCII)
_TIMES = ("duration", "runtime", "time", "weight", "size")
"""Attributes of a node that writers of task graphs keep its time in, the first that it has."""
_BYTES = ("size", "bytes", "data")
"""Attributes of an edge that they keep the bytes in which it carries. `weight` is one of drawings."""
_END = ("sign", "the end of the file")
Nodes = dict[str, None]


def read_dot(text: str) -> TaskGraph:
    """A directed graph. An edge a -> b says that b depends on a. Times are numbers in `duration`, `runtime`,
    `time`, `weight` or `size` of the nodes, whose unit no attribute says; bytes are in `size`, `bytes` or
    `data` of the edges, and a task hands on as many as the largest of its edges. Raises `InputError`."""
    reader = _Reader(text)
    reader.graph()
    labels = {name: _label(name, one["label"]) for name, one in reader.nodes.items() if "label" in one}
    times = {name: _time(name, one) for name, one in reader.nodes.items()}
    lacks = f"no node has {', '.join(_TIMES[:-1])} or {_TIMES[-1]}"
    return made("DOT", times, reader.before, labels=labels, no_times=lacks, outputs=reader.outputs)


def _time(name: str, attributes: dict[str, str]) -> float | None:
    return next((amount(attributes[key], f"time of {name}") for key in _TIMES if key in attributes), None)


def _label(name: str, label: str) -> str:
    """The first line of a label; the name where that is empty, or in HTML."""
    line = re.split(r"\\[nlr]|\n", label.replace("\\N", name).strip())[0]
    return name if not line or line.startswith("<") else line


def _token(text: str, at: int) -> tuple[str, str, int, int]:
    """Kind (`sign`, `word`, `quoted`), text, place and end of the next token."""
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise wrong_at(text, at, "a name, a number, a text in quotes, or a sign of DOT")
        kind, end = match.lastgroup, match.end()
        if kind == "markup":  # a label in HTML, which has pairs of < and >
            depth = 1
            while depth and end < len(text):
                depth += {"<": 1, ">": -1}.get(text[end], 0)
                end += 1
            if depth:
                raise wrong_at(text, at, "a > for each <")
            return "quoted", text[at:end], at, end
        if kind == "quoted":
            return "quoted", match[0][1:-1].replace('\\"', '"').replace("\\\n", ""), at, end
        if kind in ("sign", "word"):
            return kind, match[0], at, end
        at = end
    return *_END, at, at


@dataclass
class _Reader:
    """The statements of a graph, in the order of the file."""

    text: str
    read: int = 0
    """The place after the tokens that were taken, and those ahead of them."""
    ahead: list[tuple[str, str, int]] = field(default_factory=list)
    """Tokens that were looked at."""
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    """The attributes of each."""
    defaults: dict[str, str] = field(default_factory=dict)
    """Attributes of the nodes that first appear in this scope."""
    subgraphs: dict[str, Nodes] = field(default_factory=dict)
    before: list[tuple[str, str]] = field(default_factory=list)
    outputs: dict[str, float | None] = field(default_factory=dict)
    """The bytes of the largest edge from a node, where they are known."""

    def graph(self) -> None:
        words = [self._take() for _ in range(3) if self._next()[0] != "sign"]
        if "digraph" not in [one.lower() for one in words[:2]]:
            raise InputError("graph", " ".join(words), "digraph: dependences have a direction")
        self._expect("{")
        self._statements()
        if self._next() != _END:
            raise self._error("nothing after the graph")

    def _next(self, further: int = 0) -> tuple[str, str]:
        while len(self.ahead) <= further:
            kind, text, at, self.read = _token(self.text, self.read)
            self.ahead.append((kind, text, at))
        return self.ahead[further][:2]

    def _error(self, allowed: str) -> InputError:
        self._next()
        return wrong_at(self.text, self.ahead[0][2], allowed)

    def _take(self) -> str:
        text = self._next()[1]
        del self.ahead[0]
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
        del self.ahead[0]
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
        while True:
            if self.ahead:  # is read again
                self.read = self.ahead[0][2]
                self.ahead.clear()
            if plain := _PLAIN.match(self.text, self.read):
                self._plain(plain, named)
                continue
            if self._is("}"):
                break
            if self._is(";") or self._is(","):
                continue
            if self._next() == _END:
                raise self._error("a } for each {")
            named |= self._statement()
        self.defaults = outer
        return named

    def _plain(self, found: re.Match[str], named: Nodes) -> None:
        """Takes a statement that is read at once."""
        self.read = found.end()
        ends = [one.strip('"') for one in found.group(1, 2) if one]
        for name in ends:
            if name not in self.nodes:
                self.nodes[name] = dict(self.defaults)
            named[name] = None
        pairs = _ATTRIBUTE.findall(found[3]) if found[3] else ()
        attributes = {key.lower(): value.strip('"') for key, value in pairs}
        if len(ends) > 1:
            self.before.append((ends[1], ends[0]))
            self._hand_on(ends[:1], attributes)
        else:
            self.nodes[ends[0]].update(attributes)

    def _hand_on(self, tasks: Iterable[str], attributes: dict[str, str]) -> None:
        """Takes the bytes of edges from tasks, if they say a number."""
        said = next((attributes[key] for key in _BYTES if key in attributes), "")
        if _NUMBER.fullmatch(said) and math.isfinite(float(said)):
            for task in tasks:
                self.outputs[task] = max(float(said), self.outputs.get(task) or 0.0)

    def _statement(self) -> Nodes:
        if self._word() in ("graph", "node", "edge") and self._next(1) == ("sign", "["):
            of_nodes = self._take().lower() == "node"
            attributes = self._attributes()
            self.defaults |= attributes if of_nodes else {}
            return {}
        if self._next()[0] != "sign" and self._next(1) == ("sign", "="):
            del self.ahead[:2]
            self._name("a value")
            return {}
        ends = self._ends()
        named = dict(ends)
        before: Nodes = {}
        while self._is("->"):
            others = self._ends()
            self.before += [(other, one) for one in ends for other in others]
            before |= ends
            ends = others
            named |= ends
        attributes = self._attributes()
        self._hand_on(before, attributes)
        if not before:
            for name in ends:
                self.nodes[name] |= attributes
        return named

    def _ends(self) -> Nodes:
        """A node, or the nodes of a subgraph."""
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
