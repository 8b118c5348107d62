"""Calls that a test must await: those that it forgot are known at its end.

Python only warns of such a call, and a test continues as if it had waited: `mq.settle()` and
``producer.send(…)`` without ``await`` do nothing, and ``assert mq.wait_for(…)`` always passes.
"""

from __future__ import annotations

import os.path
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import CoroutineType
from typing import Any, TypeAlias, cast

from fakemq import awaited
from fakemq.awaited import Call

_Noting: TypeAlias = "CoroutineType[Any, Any, Any]"
_SAMPLE = (object(),)
_ALONE = sys.getrefcount(_SAMPLE[0])
"""The number of references to what a tuple alone holds."""
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Unawaited:
    """The calls during one test, of all threads, that are not awaited yet."""

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[_Noting, Call, str]] = {}
        """Number of a call → what notes it, its coroutine, and its text."""
        self._numbers = count()  # other threads count, too

    def add(self, call: Call, name: str) -> Call:
        """Return a coroutine that does the same, and notes when it is awaited."""
        number = next(self._numbers)
        noting = cast("_Noting", self._awaited(call, number))
        noting.__name__, noting.__qualname__ = name.rpartition(".")[2], name
        self._waiting[number] = noting, call, f"{name}() at {_place()}"
        return noting

    async def _awaited(self, call: Call, number: int) -> object:
        self._waiting.pop(number, None)
        return await call

    def end(self) -> list[str]:
        """Return one text for each call that was never awaited; forget them."""
        texts = []
        for waiting in list(self._waiting.values()):  # other threads may add some
            if _is_held(waiting):
                continue
            noting, call, text = waiting
            # A task that is cancelled before its first step closes it without a step.
            if noting.cr_frame is not None:
                texts.append(f"{text} was never awaited, so it did nothing: write await before it")
            for one in (noting, call):
                one.close()  # else Python warns of it, later and in another test
        self._waiting.clear()
        return texts


@contextmanager
def watching() -> Iterator[Unawaited]:
    """Watch the calls of the block. Not for two tests at once in one process."""
    calls = Unawaited()
    before, awaited.note_call = awaited.note_call, calls.add
    try:
        yield calls
    finally:
        awaited.note_call = before


def _is_held(waiting: tuple[object, ...]) -> bool:
    """Return whether something else holds its first element, such as a task that has not begun."""
    return sys.getrefcount(waiting[0]) > _ALONE


def _place() -> str:
    """Return file and line of the nearest caller outside of fakemq."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
