"""What all JSON bodies share: how they are written and read."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import suppress
from threading import RLock
from typing import Annotated, Any, Self, TypeAlias, TypeVar

import msgspec

from fakemq.protocol import fastjson
from fakemq.protocol.errors import BodyError, NullBodyError
from fakemq.protocol.limits import PEER_JSON, JsonLimits

Int: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""A Java int."""

Long: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A Java long."""

Double: TypeAlias = float
"""A Java double; a whole number, too, is written with a point."""

T = TypeVar("T")

_decoders: dict[type, Callable[[bytes], Any]] = {}
_prepared: set[Any] = set()
_preparing = RLock()


_REMEMBERED, _REMEMBERED_BYTES = 256, 2_048
"""How many encoded bodies are kept, and how large the standard JSON of each may be."""

_encoded: dict[tuple[type, object, bytes], bytes] = {}
_standard = msgspec.json.Encoder()


def remembered(body: T, encode: Callable[[T], bytes]) -> bytes:
    """Return ``encode(body)``, or what it returned for an equal body before.

    Routes and heartbeats are the same again and again, and fastjson's dialect is written in Python.
    Standard JSON, which is written fifty times as fast, distinguishes bodies of one type, unless
    they have doubles: it has neither NaN nor infinity.
    """
    try:
        standard = _standard.encode(body)
    except (TypeError, ValueError):  # objects for keys, half a surrogate pair
        return encode(body)
    if len(standard) > _REMEMBERED_BYTES:
        return encode(body)
    key = (type(body), encode, standard)
    found = _encoded.get(key)
    if found is None:
        if len(_encoded) >= _REMEMBERED:
            forget_encoded()
        found = _encoded[key] = encode(body)
    return found


def forget_encoded() -> None:
    """Forget what `remembered` keeps."""
    _encoded.clear()


class _Json:
    __slots__ = ()

    def encode(self) -> bytes:
        """Return the JSON of this bean."""
        return fastjson.encode(self)

    def encode_in_steps(self) -> Generator[None, None, bytes]:
        """`encode`, of a bean with many items: it yields in between."""
        return fastjson.encode_in_steps(self)

    @classmethod
    def decode_or_null(cls, data: bytes, limits: JsonLimits = PEER_JSON) -> Self | None:
        """As `decode`; None for a body that says null, where a processor does not mind."""
        try:
            return cls.decode(data, limits=limits)
        except NullBodyError as error:
            if error.field or not data:  # no body at all is no JSON either
                raise
            return None

    @classmethod
    def decode(cls, data: bytes, *, limits: JsonLimits = PEER_JSON) -> Self:
        """Return the bean in ``data``.

        There are two errors: 1. BodyError where fastjson throws. 2. NullBodyError where fastjson
        returns null, or leaves a field null that this bean needs.

        A body in the form of its class is read fast. ``limits`` bounds all others, by where the
        bytes come from; beyond them BodyError is raised.
        """
        decode = _decoders.get(cls)
        if decode is None:
            decode = _decoders[cls] = _decoder(cls)
        try:
            bean: Self = decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            bean = _decode_as_fastjson(data, cls, limits)
        return bean


class Body(_Json, msgspec.Struct, rename="camel"):
    """A Java bean that travels as JSON. Every field has the default it has in Java.

    Fields are written sorted by name, nulls left out, maps in the order they are in.

    Source: remoting/protocol/RemotingSerializable.java (4.9.7), fastjson 1.2.69
    """


class FrozenBody(_Json, msgspec.Struct, rename="camel", frozen=True):
    """A `Body` that is a value: hashable, never changed."""


def prepared(kind: T) -> T:
    """Return a type for msgspec to decode to, once a single thread has looked at its fields.

    msgspec 0.22 looks at the fields of a Struct when it is decoded for the first time. A second
    thread that decodes it at this moment reads a null pointer, which ends the process. A test and
    its cluster are two threads. A fork waits until no type is half prepared: its child has neither
    the other thread nor a way to release that thread's lock.
    """
    if kind not in _prepared:
        with _preparing:
            msgspec.json.Decoder(kind)
            _prepared.add(kind)
    return kind


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(
        before=_preparing.acquire,
        after_in_parent=_preparing.release,
        after_in_child=_preparing.release,
    )


def _decoder(cls: type[Any]) -> Callable[[bytes], Any]:
    try:
        return msgspec.json.Decoder(prepared(cls), strict=False).decode
    except TypeError:  # a map with objects for keys is never standard JSON
        return _refuse


def _refuse(data: bytes) -> Any:
    raise msgspec.DecodeError("a map with objects for keys")


def _decode_as_fastjson(data: bytes, cls: type[Any], limits: JsonLimits) -> Any:
    # Only an odd body ever needs these.
    from fakemq.protocol.beans import NOTHING, MissingFieldError, to_bean
    from fakemq.protocol.fastjson_keys import with_number_keys_quoted

    try:
        fastjson.require_few_items(data, limits)
        if (quoted := with_number_keys_quoted(data, limits.quoted_bytes)) is not None:
            with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return _decoders[cls](quoted)
        value = fastjson.loads(data, limits)
        if value in NOTHING:
            raise NullBodyError(cls.__name__)
        return to_bean(value, cls)
    except MissingFieldError as error:
        raise NullBodyError(cls.__name__, error.field) from error
    except ValueError as error:
        raise BodyError(f"no {cls.__name__} in a body of {len(data)} bytes: {error}") from error
