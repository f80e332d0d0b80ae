"""The words by which people look for a pattern or a preset, such as `wavefront`, and what they mean here."""

from __future__ import annotations

from taskgrain import _core
from taskgrain.study import presets
from taskgrain.words.nearest import bare, either, nearest

_LEAST = 3
"""Letters that the beginning of a word must have."""


def patterns_called(value: object) -> list[str]:
    """The patterns that are also called so, or that a preset whose name begins so has; or nearly so, unless
    the name of a pattern is as near."""
    asked = _asked(value)
    if not asked:
        return []
    words = {name: {*map(bare, said.split(","))} for name, said in _core.also_called().items()}
    for one in map(presets.read, presets.names()):
        words[str(one.fields["pattern"])].add(bare(one.name))
    begun = [name for name, own in words.items() if any(word.startswith(asked) for word in own)]
    if begun or nearest(value, words):
        return begun
    near = {*nearest(value, {word for own in words.values() for word in own if word})}
    return [name for name, own in words.items() if own & near]


def presets_called(value: object) -> list[str]:
    """The presets of these patterns that speak of the word, or all where none does."""
    asked, found = _asked(value), patterns_called(value)
    fitting = [one for one in map(presets.read, presets.names()) if one.fields["pattern"] in found]
    speaking = [one for one in fitting if asked in bare(f"{one.name} {one.title} {one.text}")]
    return [one.name for one in speaking or fitting]


def _asked(value: object) -> str:
    asked = bare(value) if isinstance(value, str) else ""
    return asked if len(asked) >= _LEAST else ""


def ask_for_pattern(value: object) -> str:
    """`Did you mean dom, or --like sweep?` of `wavefront`; empty for a word that nobody uses."""
    found, examples = patterns_called(value), presets_called(value)
    like = f", or --like {either(examples)}" if examples else ""
    return f"Did you mean {either(found)}{like}?" if found else ""


def ask_for_preset(value: object) -> str:
    """`Did you mean sweep?` of `wavefront`; empty for a word that nobody uses."""
    found = presets_called(value)
    return f"Did you mean {either(found)}?" if found else ""
