"""The handler of each request code: one module a code, imported with its first request.

The package ``handlers`` of a kind of node has the handlers of the default reference. The package
of another reference, such as ``v5.handlers``, has those that only it has, or that do something else
there; each of its modules is named like its code. So no node imports a handler of another one.
"""

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
    Reply[ResponseHeader]
    | Parked[ResponseHeader]
    | Steps[Reply[ResponseHeader] | Parked[ResponseHeader] | None]
    | None,
]


class Handlers(Generic[NodeT]):
    """The handlers of one kind of node, found in one package: one registration a code.

    Codes without a handler in it are looked up in ``earlier``, the handlers of another reference.

    A handler is registered by ``@handles(table.SOME_CODE)``. One that may take long is a generator,
    see `fakemq.dispatch.long_work`.
    """

    def __init__(self, package: str, *, earlier: Handlers[Any] | None = None) -> None:
        self._package = package
        self._earlier = earlier
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
            if code not in self._by_code and self._earlier is None:
                self.load()
        found = self._by_code.get(code)
        return self._earlier.find(code) if found is None and self._earlier is not None else found

    def load(self) -> dict[int, tuple[Row[Any, Any], Callable[..., Any]]]:
        """Import every module of the package; return code → (row, handler), earlier ones first."""
        if not self._loaded:
            import pkgutil

            package = import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                import_module(f"{self._package}.{module.name}")
            self._loaded = True
        return self._by_code if self._earlier is None else self._earlier.load() | self._by_code


def _called(handler: Callable[..., Any]) -> Callable[..., Any]:
    if not isgeneratorfunction(handler):
        return handler
    from fakemq.dispatch.long_work import in_slices  # most runs have none

    return in_slices(handler)


def _is_same(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    # By name, not by identity: pytester forgets modules and imports them anew.
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
