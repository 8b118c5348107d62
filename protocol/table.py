"""Which headers belong to which code: the protocol's own table.

A row names its header classes as ``module.Class`` below ``fakemq.protocol.headers`` and loads
them when first asked, because most runs never see most codes. The type parameters say the same
to the type checker: a handler whose header types do not match its row does not pass.
"""

from __future__ import annotations

from importlib import import_module
from typing import Generic, TypeVar, cast

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.header import Header

RequestHeader = TypeVar("RequestHeader", bound=Header)
ResponseHeader = TypeVar("ResponseHeader", bound=Header)


class NoHeader(Header):
    """The header of a request or response that has none."""


class Row(Generic[RequestHeader, ResponseHeader]):
    """One request code with its request and response header."""

    __slots__ = ("_request", "_response", "code")

    def __init__(self, code: RequestCode, request: str = "", response: str = "") -> None:
        self.code = code
        self._request = request
        self._response = response

    @property
    def request_header(self) -> type[RequestHeader]:
        return cast("type[RequestHeader]", _load(self._request))

    @property
    def response_header(self) -> type[ResponseHeader]:
        return cast("type[ResponseHeader]", _load(self._response))

    def __repr__(self) -> str:
        return f"<{self.code.name} ({self.code}) {self._request or '-'} {self._response or '-'}>"


def _load(path: str) -> type[Header]:
    if not path:
        return NoHeader
    module, _, name = path.rpartition(".")
    header = getattr(import_module(f"fakemq.protocol.headers.{module}"), name)
    assert issubclass(header, Header)
    return header
