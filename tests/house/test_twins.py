"""The classes of programs with threads are made from those of asynchronous programs."""

from __future__ import annotations

import re

import pytest

from tests.support import twins
from tests.support.sources import ROOT, name_of, python_files, text_of
from tests.support.twins import FIRST_LINE, ITS_OWN, WORDS


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return twins.sources()


@pytest.mark.parametrize("path", twins.TWINS.values())
def test_twin_is_what_its_source_makes(path: str, made: dict[str, str]) -> None:
    assert text_of(ROOT / path) == made[path], f"run python -m {twins.__name__}"


@pytest.mark.parametrize("word", [*WORDS, *(word for own in ITS_OWN.values() for word in own)])
def test_each_word_is_in_a_source(word: str) -> None:
    texts = (text_of(ROOT / path) for path in twins.TWINS)
    assert any(re.search(word, text, flags=re.MULTILINE) for text in texts)


def test_every_generated_twin_is_made() -> None:
    says_so = (path for path in python_files("fakemq") if text_of(path).startswith(FIRST_LINE))
    assert set(map(name_of, says_so)) == set(twins.TWINS.values())
