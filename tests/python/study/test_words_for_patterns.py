"""The words by which people look for patterns: errors ask for what they mean here, and the page has them."""

import pytest

from taskgrain import _core
from taskgrain.study import presets
from taskgrain.study.fields import GIVEN
from taskgrain.study.words_for_patterns import patterns_called, presets_called
from taskgrain.words.errors import InputError

WORDS = [(name, one.strip()) for name, said in _core.also_called().items() for one in said.split(",") if said]


def refused(field: str, word: str) -> str:
    with pytest.raises(InputError) as caught:
        GIVEN[field].read(word, f"--{field}")
    return str(caught.value)


def test_no_word_is_a_pattern() -> None:
    assert list(_core.also_called()) == _core.patterns()
    assert not {word for _, word in WORDS} & {*_core.patterns()}


@pytest.mark.parametrize(("pattern", "word"), WORDS)
def test_a_word_asks_for_each_pattern_that_is_called_so(pattern: str, word: str) -> None:
    for written in (word, word.upper(), word.replace(" ", "_"), word.replace("-", "")):
        assert pattern in patterns_called(written)
        asked = refused("pattern", written).split("?", 1)[0]
        assert pattern in asked
        for name in presets_called(written):
            assert presets.read(name).fields["pattern"] in patterns_called(written)
            assert name in asked.split("--like")[1]


@pytest.mark.parametrize("name", presets.names())
def test_the_name_of_a_preset_asks_for_it_and_for_its_pattern(name: str) -> None:
    if name in _core.patterns():
        return
    asked = refused("pattern", name).split("?", 1)[0]
    assert name in asked and str(presets.read(name).fields["pattern"]) in asked


def test_the_words_that_people_search_for() -> None:
    said = refused("pattern", "wavefront")
    assert said.startswith("--pattern: wavefront is not allowed. Did you mean dom, or --like sweep? `")
    assert "Did you mean sweep?" in refused("like", "wavefront")
    assert presets_called("halo") == ["halo-1d", "halo-2d", "halo-3d"]
    assert refused("pattern", "sweeps").startswith(
        "--pattern: sweeps is not allowed. Did you mean dom, or --like sweep?"
    )
    assert presets_called("reduction") == ["tree-reduction"]
    assert (patterns_called("pipeline"), patterns_called("map_reduce")) == (["dom"], ["all_to_all"])


@pytest.mark.parametrize("word", ["", "ha", "stencl_1d", "no such word", 3])
def test_other_words_are_refused_as_ever(word: object) -> None:
    assert patterns_called(word) == presets_called(word) == []
    with pytest.raises(InputError) as caught:
        GIVEN["pattern"].read(word, "--pattern")
    assert "--like" not in str(caught.value)
