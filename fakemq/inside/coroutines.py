"""Coroutine functions of users, where there is no event loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fakemq.errors import FakemqError


class WaitsForLoopError(FakemqError):
    """A coroutine inside the cluster awaited something that only an event loop can do."""


def called(function: Callable[..., object], args: tuple[Any, ...]) -> object:
    """Call a function; run the coroutine that it returns, if it does, to its end.

    A coroutine may await other clients inside the cluster, whose methods wait for nothing there.
    Raise WaitsForLoopError if it awaits an event loop.
    """
    value = function(*args)
    if not isinstance(value, Coroutine):
        return value
    try:
        value.send(None)
    except StopIteration as end:
        return end.value
    value.close()
    name = getattr(function, "__qualname__", repr(function))
    raise WaitsForLoopError(
        f"{name} awaits an event loop, and there is none inside the cluster: await only clients of"
        ' the same cluster, or use a consumer of kind="async"'
    )
