"""Methods that a program must await: `fakemq.handles.awaiting` notes their calls during a test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

C = TypeVar("C", bound=type)

_IS_COROUTINE = 0x80
"""The flag of the code of an ``async def``."""

Call = Coroutine[Any, Any, Any]
note_call: Callable[[Call, str], Call] | None = None
"""Called with each call of a method that must be awaited, and its name, such as
``AsyncProducer.send``; returns what the caller gets."""


def must_be_awaited(owner: C) -> C:
    """Decorate a class whose coroutine methods a program may forget to await."""
    for name, method in list(vars(owner).items()):
        code = getattr(method, "__code__", None)
        if code is not None and code.co_flags & _IS_COROUTINE and not name.startswith("__"):
            setattr(owner, name, _noting(name, method))
    return owner


def _noting(name: str, method: Callable[..., Call]) -> Callable[..., Call]:
    @wraps(method)
    def call(self: object, /, *args: Any, **kwargs: Any) -> Call:
        made = method(self, *args, **kwargs)
        return made if note_call is None else note_call(made, f"{type(self).__name__}.{name}")

    # Frameworks ask whether they have to await a function.
    if sys.version_info >= (3, 12):
        from inspect import markcoroutinefunction

        markcoroutinefunction(call)
    else:
        from asyncio import coroutines

        call._is_coroutine = coroutines._is_coroutine  # type: ignore[attr-defined]  # as Python's
    return call
