"""The handler of each request code: one module a code, imported with its first request."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import isgeneratorfunction
from typing import Any, Generic, TypeAlias, TypeVar

from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.protocol.codes import code_name
from fakemq.protocol.table import RequestHeader, ResponseHeader, Row

NodeT = TypeVar("NodeT")

_HandlerOf: TypeAlias = Callable[
    [NodeT, Request[RequestHeader]],
    Reply[ResponseHeader] | Parked[ResponseHeader] | Steps[Reply[ResponseHeader] | None] | None,
]


class Handlers(Generic[NodeT]):
    """The handlers of one kind of node, found in one package: one registration a code.

    A handler is registered by ``@handles(table.SOME_CODE)``. One that may take long is a generator,
    see `fakemq.dispatch.long_work`.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._by_code: dict[int, tuple[Row[Any, Any], Callable[..., Any]]] = {}
        self._loaded = False
        """Whether every module of the package was imported."""

    def __call__(
        self, row: Row[RequestHeader, ResponseHeader]
    ) -> Callable[
        [_HandlerOf[NodeT, RequestHeader, ResponseHeader]],
        _HandlerOf[NodeT, RequestHeader, ResponseHeader],
    ]:
        """Register the decorated function for ``row``'s code; twice is an error at import."""

        def register(
            handler: _HandlerOf[NodeT, RequestHeader, ResponseHeader],
        ) -> _HandlerOf[NodeT, RequestHeader, ResponseHeader]:
            present = self._by_code.get(row.code)
            if present is not None and not _is_same(present[1], handler):
                raise LookupError(
                    f"{row.code.name} is handled twice: by {present[1].__module__}"
                    f" and by {handler.__module__}"
                )
            self._by_code[row.code] = (row, _called(handler))
            return handler

        return register

    def find(self, code: int) -> tuple[Row[Any, Any], Callable[..., Any]] | None:
        """Return the row and the handler of a code; None if the code has none."""
        if code not in self._by_code and not self._loaded:
            # Most runs see few codes: import the module that has the code's name, and all
            # modules only if that one does not exist or does not register the code.
            module = f"{self._package}.{code_name(code).lower()}"
            try:
                import_module(module)
            except ModuleNotFoundError as error:
                if error.name != module:
                    raise
            if code not in self._by_code:
                self.load()
        return self._by_code.get(code)

    def load(self) -> dict[int, tuple[Row[Any, Any], Callable[..., Any]]]:
        """Import every module of the package; return code → (row, handler)."""
        if not self._loaded:
            import pkgutil

            package = import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                import_module(f"{self._package}.{module.name}")
            self._loaded = True
        return self._by_code


def _called(handler: Callable[..., Any]) -> Callable[..., Any]:
    if not isgeneratorfunction(handler):
        return handler
    from fakemq.dispatch.long_work import in_slices  # most runs have none

    return in_slices(handler)


def _is_same(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    # By name, not by identity: pytester forgets modules and imports them anew.
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
