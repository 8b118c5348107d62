"""Calls that a test must await: those that it forgot are known at its end.

Python only warns of such a call, and a test continues as if it had waited: `mq.settle()` and
``producer.send(…)`` without ``await`` do nothing, and ``assert mq.wait_for(…)`` always passes.
"""

from __future__ import annotations

import os.path
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CoroutineType
from typing import Any, cast

from fakemq import awaited
from fakemq.awaited import Call

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Calls:
    """The calls during one test, of all threads, that are not awaited yet."""

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[tuple[Call, ...], str]] = {}
        """Number of a call → its coroutines, and its text."""
        self._number = 0

    def add(self, call: Call, name: str) -> Call:
        """Return a coroutine that does the same, and notes when it is awaited."""
        self._number += 1
        noting = cast("CoroutineType[Any, Any, Any]", self._awaited(call, self._number))
        noting.__name__, noting.__qualname__ = name.rpartition(".")[2], name
        self._waiting[self._number] = (noting, call), f"{name}() at {_place()}"
        return noting

    async def _awaited(self, call: Call, number: int) -> object:
        self._waiting.pop(number, None)
        return await call

    def end(self) -> list[str]:
        """Return one text for each call that was never awaited; forget them."""
        texts = []
        for coroutines, text in list(self._waiting.values()):  # other threads may add some
            texts.append(f"{text} was never awaited, so it did nothing: write await before it")
            for one in coroutines:
                one.close()  # else Python warns of it, later and in another test
        self._waiting.clear()
        return texts


@contextmanager
def watching() -> Iterator[Calls]:
    """Watch the calls of the block. Not for two tests at once in one process."""
    calls = Calls()
    before, awaited.note_call = awaited.note_call, calls.add
    try:
        yield calls
    finally:
        awaited.note_call = before


def _place() -> str:
    """Return file and line of the nearest caller outside of fakemq."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
