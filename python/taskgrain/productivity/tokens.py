"""The tokens of a source, by the grammar of its language: tree-sitter finds them, as it does for editors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from taskgrain.words.errors import InputError, UsageError
from taskgrain.words.extras import needing

Role = Literal["", "function", "keyword"]


@dataclass(frozen=True)
class Language:
    """The facts about a language beside its grammar."""

    grammar: str
    """tree_sitter_NAME is the module that has it."""
    path: str = "."
    """Stands between the parts of a name such as `ray.get`."""
    imports: tuple[str, ...] = ()
    """Kinds of nodes that only bring names in."""
    functions: tuple[str, ...] = ()
    """Kinds of nodes that declare a function."""
    docstrings: bool = False
    member: tuple[str, ...] = (".",)
    """The signs before a member of something."""
    words: tuple[str, ...] = ()
    """Keywords that may be constructs, because the language itself is a runtime."""


_CPP = Language(
    "cpp",
    "::",
    ("using_declaration", "namespace_alias_definition", "preproc_include"),
    ("function_declarator",),
    member=(".", "->"),
)
_PYTHON = Language(
    "python",
    ".",
    ("import_statement", "import_from_statement", "future_import_statement"),
    ("function_definition",),
    docstrings=True,
)
_SCALA = Language(
    "scala", ".", ("import_declaration", "package_clause"), ("function_definition", "function_declaration")
)
_JAVA = Language("java", ".", ("import_declaration", "package_declaration"), ("method_declaration",))
_RUST = Language(
    "rust",
    "::",
    ("use_declaration", "extern_crate_declaration"),
    ("function_item", "function_signature_item"),
)
_GO = Language(
    "go",
    ".",
    ("import_declaration", "package_clause"),
    ("function_declaration", "method_declaration"),
    words=("go", "chan", "select"),
)
LANGUAGES: Mapping[str, Language] = {
    **dict.fromkeys((".c", ".h", ".cpp", ".cc", ".cxx", ".hpp", ".hxx", ".cu", ".cuh"), _CPP),
    ".ci": _CPP,  # Charm++'s interface files have C++'s comments, names and brackets
    ".jdf": _CPP,  # and so have PaRSEC's task graphs
    ".py": _PYTHON,
    ".scala": _SCALA,
    ".java": _JAVA,
    ".rs": _RUST,
    ".go": _GO,
}
"""The languages by the ending of a file's name."""


BRACKETS = frozenset("(){}[];,")
"""A line of these alone is no line of code."""


@dataclass(frozen=True)
class Token:
    """A word, a sign, a text or a directive."""

    text: str
    first: int
    """Line of its begin, and of its end, from 1."""
    last: int
    is_name: bool
    role: Role = ""
    """The role of a name: `function` that is declared or defined here, `keyword` before an argument."""


@dataclass(frozen=True)
class Source:
    """A source without comments and docstrings."""

    file: Path
    language: Language
    tokens: tuple[Token, ...]
    """All tokens except those of imports."""
    import_lines: frozenset[int]
    """Lines that have tokens of imports, and not only brackets."""
    imported: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The whole of what a name stands for: `np` for `("numpy",)`, `Event` for `("Realm", "Event")`."""


def read(file: Path, named: str) -> Source:
    """Reads a source, which errors call `named`.

    Raises `InputError` if it is in no language that can be parsed, `UsageError` if it cannot be read.
    """
    language = LANGUAGES.get(file.suffix)
    if language is None:
        raise InputError(named, file.name, f"a file that ends with {', '.join(LANGUAGES)}")
    try:
        text = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{named}: {file}: cannot be read: {error.strerror}") from None
    return parse(text, language, file)


def parse(text: bytes, language: Language, file: Path = Path()) -> Source:
    """The tokens of a text. What the grammar does not understand still has tokens."""
    tokens: list[Token] = []
    import_lines: set[int] = set()
    imported: dict[str, tuple[str, ...]] = {}
    for node, of_import in _nodes(_parser(language.grammar).parse(text).root_node, language):
        if node.type in language.imports:
            imported |= _imported(_text(node), first=node.type == "import_statement")
        elif token := _token(node, language):
            if of_import and token.text not in BRACKETS:
                import_lines.update(range(token.first, token.last + 1))
            elif not of_import:
                tokens.append(token)
    return Source(file, language, tuple(tokens), frozenset(import_lines), imported)


@cache
def _parser(grammar: str) -> Any:
    from tree_sitter import Language, Parser

    with needing("productivity"):
        module = import_module(f"tree_sitter_{grammar}")
    return Parser(Language(module.language()))


def _nodes(node: Any, language: Language, of_import: bool = False) -> Iterator[tuple[Any, bool]]:
    """The imports and the leaves in order, each with whether it is of an import; without comments."""
    if "comment" in node.type or (language.docstrings and _is_docstring(node)):
        return
    if node.type in language.imports:
        of_import = True
        yield node, True
    if node.type == "preproc_call" or not node.children:  # its parts are no tokens of the language
        yield node, of_import
        return
    for child in node.children:
        yield from _nodes(child, language, of_import)


def _is_docstring(node: Any) -> bool:
    return node.type == "expression_statement" and [one.type for one in node.children] == ["string"]


def _token(node: Any, language: Language) -> Token | None:
    text = _text(node).strip()  # the end of a line is a leaf too, and belongs to directives
    if not text:
        return None
    first = node.start_point[0] + 1
    return Token(text, first, first + text.count("\n"), _is_name(node, language), _role(node, language))


def _is_name(node: Any, language: Language) -> bool:
    kind = str(node.type)
    return (kind.endswith("identifier") and kind != "operator_identifier") or kind in language.words


def _role(node: Any, language: Language) -> Role:
    around = node.parent
    while around is not None and around.type == "qualified_identifier":  # Column::start
        node, around = around, around.parent
    if around is None:
        return ""
    named = (around.child_by_field_name("declarator"), around.child_by_field_name("name"))
    if around.type in language.functions and node in named:
        return "function"
    return "keyword" if around.type == "keyword_argument" and node == named[1] else ""


def _text(node: Any) -> str:
    return str(node.text.decode("utf-8", "replace"))


_WORD = r"[\w.:]+"
_OTHER_NAME = re.compile(rf"^({_WORD})(?:\s*(?:=>|\bas\b)\s*(\w+))?$")


def _imported(text: str, first: bool = False) -> dict[str, tuple[str, ...]]:
    """Returns what the names of an import stand for; `first` where `import a.b` makes `a` known, and not `b`.

    `import a.b as c` · `from a import b as c, d` · `import a.{b => c, d}` · `import a.b;` ·
    `using a::b, c::d;` · `namespace c = a::b;` · `use a::b as c;` · `use a::{b, c as d};`
    """
    words = " ".join(re.sub(r"[(){};]", lambda sign: " " if sign[0] in "();" else sign[0], text).split())
    if alias := re.match(rf"namespace (\w+) = ({_WORD})$", words):
        return {alias[1]: _parts(alias[2])}
    if named := re.match(rf"from ({_WORD}) import (.*)$", words):
        return _names(named[2], _parts(named[1]))
    if among := re.match(rf"(?:import|use) ({_WORD}?)(?:\.|::)\{{(.*)\}}$", words):
        return _names(among[2], _parts(among[1]))
    if several := re.match(r"(import|using|use)(?: static)? (?!namespace )(.*)$", words):
        return _names(several[2], (), first)
    return {}


def _names(listed: str, module: tuple[str, ...], first: bool = False) -> dict[str, tuple[str, ...]]:
    found = {}
    for one in listed.split(","):
        if name := _OTHER_NAME.match(one.strip()):
            path = (*module, *_parts(name[1]))
            if first and not name[2]:
                path = path[:1]
            found[name[2] or path[-1]] = path
    return found


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"::|\.", path) if part)
