"""help() shows each option with its default and meaning, and names only what can be imported."""

from __future__ import annotations

import builtins
import collections.abc
import concurrent.futures
import inspect
import pydoc
import re
import typing

import pytest

import fakemq
import fakemq.client

FACES = [
    f"{kind}{name}"
    for kind in ("", "Async")
    for name in ("Producer", "PushConsumer", "LitePullConsumer", "PullConsumer", "PullScheduling")
]
KNOWN = {
    *fakemq.__all__,
    *fakemq.client.__all__,
    *dir(builtins),
    *dir(typing),
    *dir(collections.abc),
    *dir(concurrent.futures),
    "datetime",
}


def written(face: str) -> str:
    return pydoc.plain(pydoc.render_doc(getattr(fakemq.client, face)))


def own_part(face: str) -> str:
    return written(face).partition("Method resolution order")[0]


@pytest.mark.parametrize("face", FACES)
def test_types_in_signatures_can_be_imported(face: str) -> None:
    cls = getattr(fakemq.client, face)
    shown = [str(inspect.signature(cls))]
    shown += [
        str(inspect.signature(method))
        for name, method in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_")
    ]
    without_values = re.sub(r"'\w*'|\w+\.(?=[A-Z])", "", " ".join(shown))
    names = set(re.findall(r"\b[A-Z]\w+", without_values))
    assert names <= KNOWN | {"PYTHON", "JSON"}


@pytest.mark.parametrize("face", FACES)
def test_names_in_texts_can_be_imported_or_are_methods(face: str) -> None:
    text = written(face).partition("inherited from typing.Generic")[0]
    names = set(re.findall(r"(?<!`)`([\w.]+)`(?!`)", text))
    methods = {name for one in FACES for name in dir(getattr(fakemq.client, one))}
    assert {name.removeprefix("Producer.") for name in names} <= KNOWN | methods


@pytest.mark.parametrize("face", FACES)
def test_every_option_is_explained_with_its_default(face: str) -> None:
    text = own_part(face)
    cls = getattr(fakemq.client, face)
    options = [
        name
        for name, one in inspect.signature(cls).parameters.items()
        if f"``{name}``: " in text and one.kind is one.KEYWORD_ONLY
    ]
    assert len(options) > 15
    assert "seed: int | None = None" in text
    assert "``seed``: int | None = None\n |      Fixes every random choice." in text
    assert "How often a consumer commits the offsets of its queues." in text


def test_defaults_are_as_a_program_writes_them() -> None:
    assert "retry_response_codes: Collection[int] = {1, 14, 16, 17, 204, 205}" in written(
        "Producer"
    )
    assert "language: LanguageCode = LanguageCode.PYTHON" in written("Producer")
    assert "allocate: AllocateStrategy | str = 'AVG'" in written("PushConsumer")
    assert "how many functions of the user" not in written("Producer")


def test_docs_of_a_subclass_are_its_own() -> None:
    class Mine(fakemq.client.Producer):
        """Sends mine."""

    assert inspect.getdoc(Mine) == "Sends mine."
    assert "Sends messages; any number of threads" in (fakemq.client.Producer.__doc__ or "")
