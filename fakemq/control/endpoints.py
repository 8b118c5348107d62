"""The declaration of endpoints: decoding, validation and OpenAPI come from one signature.

An endpoint is a function ``(control, <names in the path>, query: Query, body: Body) -> result``,
decorated with its method and path. Values from the path are strings; ``query`` and ``body`` are
optional. Example::

    @endpoint("GET", "/v1/topics/{topic}")
    def get_topic(control: Control, topic: str) -> TopicState: ...
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from fakemq.control.results import Refusal
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.body import prepared
from fakemq.protocol.limits import FRAME_MAX_BYTES

if TYPE_CHECKING:
    from fakemq.control.control import Control

Function = TypeVar("Function", bound=Callable[..., object])

BODY_MAX_BYTES = 1 << 20
"""A request's body: no other peer is answered while it is read."""
SEED_MAX_BYTES = FRAME_MAX_BYTES
"""The body of a request that stores messages: as large as the largest frame of the protocol."""
STRINGS_MAX = 200_000
"""Strings in a body, with the names of fields, for the same reason."""


class Query(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The query parameters of an endpoint; a list is given by repeating its name."""


class RequestBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The JSON body of an endpoint; a request without a body has an empty object."""


class HttpEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path."""

    method: str
    path: str
    function: Callable[..., object]
    open: bool
    """Whether it needs no token: RocketMQ clients that look for their name server have none."""
    waits: bool
    """Whether it may wait long; it is then cancelled when its client disconnects."""
    in_path: tuple[str, ...]
    """The names in the path, in the order of the function's parameters."""
    query: type[Query] | None
    body: type[RequestBody] | None
    body_max_bytes: int
    result: object
    """The type of the result."""

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def tag(self) -> str:
        """The module that declares it, by which the document groups endpoints."""
        return self.function.__module__.rpartition(".")[2]

    @property
    def tag_doc(self) -> str:
        """What the endpoints of that module are for."""
        doc = sys.modules[self.function.__module__].__doc__ or ""
        return " ".join(doc.partition("\n\n")[0].split())

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.function) or ""

    async def answer(
        self, control: Control, in_path: dict[str, str], query: dict[str, list[str]], body: bytes
    ) -> object:
        """Decode the request, call the function and return its result.

        Raise Refusal for a request that does not fit, and any error of the function.
        """
        given: dict[str, object] = dict(in_path)
        if self.query is not None:
            given["query"] = _decoded_query(self.query, query)
        elif query:
            raise Refusal(400, f"{self.method} {self.path} takes no query parameters")
        if self.body is not None:
            given["body"] = _decoded_body(self.body, body)
        result = self.function(control, **given)
        return await result if isinstance(result, Awaitable) else result


ENDPOINTS: list[HttpEndpoint] = []
"""Every endpoint, in the order of declaration."""


def endpoint(
    method: str,
    path: str,
    *,
    open: bool = False,
    waits: bool = False,
    body_max_bytes: int = BODY_MAX_BYTES,
) -> Callable[[Function], Function]:
    """Declare a function as the endpoint of ``method`` at ``path``.

    The flags are those of `HttpEndpoint`.
    """

    def declare(function: Function) -> Function:
        hints = get_type_hints(function, include_extras=True)
        names = [name for name in inspect.signature(function).parameters if name != "control"]
        ENDPOINTS.append(
            HttpEndpoint(
                method=method,
                path=path,
                function=function,
                open=open,
                waits=waits,
                in_path=tuple(name for name in names if name not in ("query", "body")),
                query=hints.get("query"),
                body=hints.get("body"),
                body_max_bytes=body_max_bytes,
                result=hints["return"],
            )
        )
        return function

    return declare


def _decoded_query(kind: type[Query], given: dict[str, list[str]]) -> Query:
    lists = {field.name for field in msgspec.structs.fields(kind) if field.default_factory is list}
    for name, texts in given.items():
        if len(texts) > 1 and name not in lists:
            raise Refusal(400, f"{name} is given {len(texts)} times; expected once")
    values = {name: texts if name in lists else texts[0] for name, texts in given.items()}
    may_have = f"the query may have: {names(kind)}"
    try:
        query = msgspec.convert(values, prepared(kind), strict=False)
    except msgspec.ValidationError as error:
        raise Refusal(400, f"{error}; {may_have}") from None
    for name, text in values.items():
        # msgspec takes 1e3 and 1.0 for integers.
        if type(getattr(query, name)) is int and not str(text).removeprefix("-").isdecimal():
            raise Refusal(400, f"Expected `int`, got `{text}` - at `$.{name}`; {may_have}")
    return query


def _decoded_body(kind: type[RequestBody], given: bytes) -> RequestBody:
    given = given or b"{}"
    strings = _count_of_strings(given)
    if strings > STRINGS_MAX:
        raise Refusal(
            413,
            f"the body has about {strings} strings; expected at most {STRINGS_MAX}: send several",
        )
    try:
        body = msgspec.json.decode(given, type=prepared(kind))
    except msgspec.ValidationError as error:
        raise Refusal(400, misfit(error, kind, given)) from None
    except msgspec.DecodeError as error:
        raise Refusal(400, no_json(error, given)) from None
    except UnicodeDecodeError:
        raise Refusal(400, "the body is no JSON: it is not UTF-8") from None
    name = fastjson.repeated_name(given)
    if name is not None:
        raise Refusal(400, f"the body has {name!r} twice in one object; expected once")
    return body


def _count_of_strings(text: bytes) -> int:
    """Return how many strings a JSON text has, or at least half of that.

    It counts too few where strings end with a backslash, which is written as two.
    """
    return (text.count(b'"') - text.count(b'\\"')) // 2


# The texts of errors about bodies that are no JSON, or do not fit their type.

_PLACE = re.compile(r" - at `\$([^`]*)`\Z")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[\.\.\.\]")
_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(rb"(?<!\\)\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def no_json(error: msgspec.DecodeError, given: bytes) -> str:
    """Return the text of an error about a body that is no JSON."""
    half = _HALF.search(_PAIR.sub(b"", given))
    # msgspec says of one at the end of a text that the body is too short.
    why = f"{half[0].decode()} is only half of a surrogate pair" if half else str(error)
    return f"the body is no JSON: {why}"


def misfit(error: msgspec.ValidationError, kind: type[msgspec.Struct], given: bytes) -> str:
    """Return the text of an error about a body that does not fit its type.

    It lists the fields of the object that is wrong, and names a key where msgspec writes ``[...]``.
    """
    text = str(error)
    place = _PLACE.search(text)
    if place is None:
        return f"{text}; the body may have: {names(kind)}"
    path, there = _followed(kind, place[1], given)
    text = f"{text[: place.start()]} - at `${path}`"
    fields = [names(one) for one in there if _is_struct(one)]
    return f"{text}; an object there may have: {fields[0]}" if fields else text


def names(kind: type[msgspec.Struct]) -> str:
    """Return the names of a type's fields, as in JSON."""
    return ", ".join(field.encode_name for field in msgspec.structs.fields(kind)) or "nothing"


def _followed(kind: object, path: str, given: bytes) -> tuple[str, list[Any]]:
    """Return a path with its keys, and the types that the value at its end may have."""
    kinds: list[Any] = [kind]
    value: Any = None
    written = ""
    if "[...]" in path:
        # What follows the first error may be no JSON, or too deep.
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = msgspec.json.decode(given)
    for step in _STEP.finditer(path):
        name, index = step.groups()
        there, part, key = list(_members(kinds)), step[0], name
        if name:
            fields = [field for one in there for field in _fields(one)]
            kinds = [field.type for field in fields if field.encode_name == name]
        else:
            holder = list if index else dict
            kinds = [get_args(one)[-1] for one in there if get_origin(one) is holder]
            key = int(index) if index else _wrong_key(value, kinds)
            if not index and key is not None:
                part = f"[{key!r}]"
        with suppress(KeyError, IndexError, TypeError):
            value = value[key]
        written += part
    return written, list(_members(kinds))


def _wrong_key(value: Any, kinds: list[Any]) -> str | None:
    """Return the first key of an object whose value does not fit its type; None without one."""
    items = value.items() if isinstance(value, dict) else ()
    for kind in kinds:  # at most one: no value may be of two types of objects with free keys
        for key, one in items:
            try:
                msgspec.convert(one, kind)
            except msgspec.ValidationError:
                return str(key)
    return None


def _members(kinds: list[Any]) -> Iterator[Any]:
    """Yield types, and for a union those that it has."""
    for kind in kinds:
        if get_origin(kind) is Annotated:
            yield from _members([get_args(kind)[0]])
        elif get_origin(kind) in (Union, UnionType):
            yield from _members(list(get_args(kind)))
        else:
            yield kind


def _fields(kind: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind) if _is_struct(kind) else ()


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
