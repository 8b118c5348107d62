"""The handler of each RPC: one module an RPC, imported with its first request."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeAlias

Handler: TypeAlias = Callable[..., Any]
"""A function of the front, the context and the request. It returns the response, or None if it
answers by itself, or is a generator that does so (`fakemq.later`)."""

_handlers: Final[dict[str, Handler | None]] = {}


def handles(rpc: str) -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of an RPC."""

    def register(handler: Handler) -> Handler:
        _handlers[rpc] = handler
        return handler

    return register


def find(rpc: str) -> Handler | None:
    """Return the handler of an RPC; None if the proxy of 5.5.0 does not implement it."""
    if rpc not in _handlers:
        module = f"fakemq.proxy.rpcs.{snake_case(rpc)}"
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            _handlers[rpc] = None
    return _handlers.get(rpc)


def snake_case(name: str) -> str:
    """Return the name of an RPC as that of its module."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")
