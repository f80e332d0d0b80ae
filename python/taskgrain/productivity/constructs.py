"""Finds the names of a source that are a runtime's constructs, by the patterns of its `system.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from taskgrain.productivity.tokens import Source, Token
from taskgrain.words.errors import InputError

Kind = Literal["directive", "path", "member", "function", "keyword", "other", "name"]

FORMS = (
    "a name, MPI_*; a member, .submit; what is in a namespace or module, tbb::flow::* or ray.*; a function "
    "that the driver defines, map_task(); the name of an argument, num_cpus=; the words of a directive, "
    "#pragma omp; a name that is none, !starpu_version; each also for some files alone, *.ci: entry"
)
"""The kind of a pattern."""

_GLOB = r"[A-Za-z_*?][\w*?]*"
_SYNTAX: tuple[tuple[Kind, str], ...] = (
    ("directive", r"#pragma (\w+)"),
    ("path", rf"((?:\w+::)+{_GLOB}|(?:\w+\.)+{_GLOB})"),
    ("member", rf"\.({_GLOB})"),
    ("function", rf"({_GLOB})\(\)"),
    ("keyword", rf"({_GLOB})="),
    ("other", rf"!({_GLOB})"),
    ("name", rf"({_GLOB})"),
)


@dataclass(frozen=True)
class Pattern:
    """One entry of `constructs`."""

    kind: Kind
    glob: str
    """The glob of a name, or of a path such as `tbb::*`; or a directive's first word."""
    files: str = "*"
    """Names of the files that it holds for."""


def pattern(text: str, named: str) -> Pattern:
    """Reads a pattern. Raises `InputError`, which calls it `named`."""
    files, _, form = text.rpartition(": ")
    for kind, syntax in _SYNTAX:
        if found := re.fullmatch(syntax, form):
            return Pattern(kind, found[1], files or "*")
    raise InputError(named, text, FORMS)


def find(source: Source, patterns: Sequence[Pattern]) -> Iterator[tuple[str, int]]:
    """The occurrences of constructs: the name of each, without its namespace, and its line."""
    rules = _Rules([one for one in patterns if fnmatchcase(source.file.name, one.files)])
    for chain, is_member in _chains(source):
        for name, line in rules.constructs(source, chain, is_member):
            if not rules.match(name, "other"):
                yield name, line


class _Rules:
    """The patterns that hold for a source."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = patterns
        paths = (tuple(re.split(r"::|\.", one.glob)) for one in patterns if one.kind == "path")
        self._paths = sorted(paths, key=len, reverse=True)

    def match(self, name: str, kind: Kind) -> bool:
        return any(one.kind == kind and fnmatchcase(name, one.glob) for one in self._patterns)

    def constructs(
        self, source: Source, chain: Sequence[Token], is_member: bool
    ) -> Iterator[tuple[str, int]]:
        if not chain[0].is_name:
            first, *words = _words(chain[0].text)
            yield from ((word, chain[0].first) for word in words if self.match(first, "directive"))
            return
        head = () if is_member else source.imported.get(chain[0].text, (chain[0].text,))
        outside = self._outside(head, chain)
        for place, token in enumerate(chain):
            member = is_member or (place > 0 and source.language.path == ".")
            if outside is not None and place >= outside:
                yield (head[-1] if place == 0 else token.text), token.first  # not what an import calls it
            elif (
                self.match(token.text, "name")
                or (member and self.match(token.text, "member"))
                or (token.role and self.match(token.text, token.role))
            ):
                yield token.text, token.first

    def _outside(self, head: Sequence[str], chain: Sequence[Token]) -> int | None:
        """The number of names that only say where the others are; None if it is in no path.

        `head` is the whole of what the first name stands for; empty if that is a member.
        """
        path = (*head, *(token.text for token in chain[1:]))
        for *prefix, glob in self._paths:
            place = len(prefix)
            if head and len(path) > place and [*path[:place]] == prefix and fnmatchcase(path[place], glob):
                return max(place - len(head) + 1, 0)
        return None


def _chains(source: Source) -> Iterator[tuple[list[Token], bool]]:
    """Names with those that belong to them, such as `tbb::flow::graph`, each with whether it is a member of
    something; and directives."""
    tokens, k = source.tokens, 0
    while k < len(tokens):
        chain = [tokens[k]]
        is_member = k > 0 and tokens[k - 1].text in source.language.member
        k += 1
        if chain[0].is_name:
            while k + 1 < len(tokens) and tokens[k].text == source.language.path and tokens[k + 1].is_name:
                chain.append(tokens[k + 1])
                k += 2
            yield chain, is_member
        elif chain[0].text.startswith("#pragma"):
            yield chain, False


def _words(directive: str) -> list[str]:
    """`#pragma omp task depend(in : a)` makes `omp`, `task`, `depend`: what is in brackets is its own."""
    text, before = directive.removeprefix("#pragma"), ""
    while text != before:
        before, text = text, re.sub(r"\([^()]*\)", " ", text)
    return re.findall(r"\w+", text) or [""]
