"""How endpoints are declared: decoding, validation and OpenAPI come from one signature.

A function ``(control, <names of the path>, query: Struct, body: Struct) -> result`` is decorated
with its method and path. Path values are text; ``query`` and ``body`` are there if it takes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar, get_type_hints

import msgspec

from fakemq.control.results import Refusal

if TYPE_CHECKING:
    from fakemq.control.control import Control

Function = TypeVar("Function", bound=Callable[..., object])


class Query(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a request may have behind its question mark; lists are given by repeating the name."""


class Body(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a request may have as its JSON; no body is an empty one."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path."""

    method: str
    path: str
    function: Callable[..., object]
    open: bool
    """Anybody may ask, without a token: clients that look for their name server."""
    waits: bool
    """It is cancelled when the client has gone."""
    in_path: tuple[str, ...]
    query: type[Query] | None
    body: type[Body] | None
    gives: object

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.function) or ""

    async def answer(
        self, control: Control, in_path: dict[str, str], query: dict[str, list[str]], body: bytes
    ) -> object:
        """Decode what came and give the result; Refusal, or what the function raises."""
        given: dict[str, object] = dict(in_path)
        if self.query is not None:
            given["query"] = _decoded_query(self.query, query)
        elif query:
            raise Refusal(400, f"{self.method} {self.path} takes nothing behind a question mark")
        if self.body is not None:
            given["body"] = _decoded_body(self.body, body)
        result = self.function(control, **given)
        return await result if isinstance(result, Awaitable) else result


ENDPOINTS: list[Endpoint] = []
"""Every endpoint there is, in the order of being declared."""


def endpoint(
    method: str, path: str, *, open: bool = False, waits: bool = False
) -> Callable[[Function], Function]:
    """Declare a function as what answers ``method`` at ``path``; see `Endpoint` for the rest."""

    def declare(function: Function) -> Function:
        hints = get_type_hints(function, include_extras=True)
        names = [name for name in inspect.signature(function).parameters if name != "control"]
        ENDPOINTS.append(
            Endpoint(
                method=method,
                path=path,
                function=function,
                open=open,
                waits=waits,
                in_path=tuple(name for name in names if name not in ("query", "body")),
                query=hints.get("query"),
                body=hints.get("body"),
                gives=hints["return"],
            )
        )
        return function

    return declare


def _decoded_query(kind: type[Query], given: dict[str, list[str]]) -> Query:
    lists = {field.name for field in msgspec.structs.fields(kind) if field.default_factory is list}
    for name, texts in given.items():
        if len(texts) > 1 and name not in lists:
            raise Refusal(400, f"{name} is given {len(texts)} times; once is enough")
    values = {name: texts if name in lists else texts[0] for name, texts in given.items()}
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Refusal(400, f"{error}; the query may have: {_names(kind)}") from None


def _decoded_body(kind: type[Body], given: bytes) -> Body:
    try:
        return msgspec.json.decode(given or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise Refusal(400, f"{error}; the body may have: {_names(kind)}") from None
    except msgspec.DecodeError as error:
        raise Refusal(400, f"the body is no JSON: {error}") from None
    except UnicodeDecodeError:
        raise Refusal(400, "the body is no JSON: it is not UTF-8") from None


def _names(kind: type[msgspec.Struct]) -> str:
    return ", ".join(field.encode_name for field in msgspec.structs.fields(kind)) or "nothing"
