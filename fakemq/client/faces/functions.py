"""Users' functions are checked when they are passed: otherwise the first message would show it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from fakemq.errors import ArgumentError


class Kind(Enum):
    """Which functions a face can run: values are words of its errors."""

    PLAIN = "a plain function"
    ANY = "a plain or an async function"
    ASYNC = "an async function, because it awaits what it pulls"
    INSIDE = "a plain function, a coroutine function or a generator function"


_REFUSED = {
    Kind.PLAIN: ("async", "generator", "async generator"),
    Kind.ANY: ("generator", "async generator"),
    Kind.ASYNC: ("plain", "generator", "async generator"),
    Kind.INSIDE: ("async generator",),
}


def require_function(
    name: str, function: object, arguments: tuple[str, ...], kind: Kind, face: str
) -> None:
    """Raise TypeError unless ``function`` is one that ``face`` can call with these arguments.

    A function of C that does not say what it takes is accepted.
    """
    if not callable(function):
        raise ArgumentError(f"{name}={function!r}: expected a function")
    found = _kind_of(function)
    if found in _REFUSED[kind]:
        article = "a" if found in ("plain", "generator") else "an"
        advice = f"use {kind.value}"
        if kind is Kind.PLAIN and found == "async" and face[:1].isupper():
            advice = f"use Async{face}, or {kind.value}"
        if kind is Kind.ASYNC and found == "plain":
            advice += f"; {face.removeprefix('Async')} takes plain ones"
        raise ArgumentError(
            f"{name} is {article} {found} function, which {face} cannot call: {advice}"
        )
    _require_arguments(name, function, arguments)


def _kind_of(function: Callable[..., object]) -> str:
    from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction

    call = getattr(function, "__call__", None)  # noqa: B004  # of an object of the user's class
    for one in (function, call):
        if iscoroutinefunction(one):
            return "async"
        if isgeneratorfunction(one):
            return "generator"
        if isasyncgenfunction(one):
            return "async generator"
    return "plain"


def _require_arguments(
    name: str, function: Callable[..., object], arguments: tuple[str, ...]
) -> None:
    from inspect import signature

    try:
        takes = signature(function)
    except (TypeError, ValueError):
        return
    try:
        takes.bind(*arguments)
    except TypeError:
        shown = getattr(function, "__name__", type(function).__name__)
        called = ", ".join(arguments)
        raise ArgumentError(
            f"{name} is {shown}{takes.replace(return_annotation=takes.empty)}: expected a function"
            f" that can be called as {shown}({called})"
        ) from None
