"""fastjson's dialect, and every body that is written in it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

from fakemq.namesrv.kv import KVConfigSerializeWrapper
from fakemq.protocol import fastjson
from fakemq.protocol.beans import to_bean
from fakemq.protocol.bodies.body import Body, FrozenBody
from fakemq.protocol.bodies.topic import RegisterBrokerBody
from fakemq.protocol.errors import BodyError, HeaderError
from fakemq.protocol.fastjson import JsonError
from fakemq.protocol.fastjson_reader import read
from tests.fuzz import golden
from tests.fuzz.target import Target, chosen, outcome, same
from tests.support.body_modules import body_modules

_WORDS = tuple(
    b'{} [] {" ":0} null true NaN undefined 1e5 -0 1L \\u00e9 \\x41 \\ud83d\\ude00 \' // /**/ '
    b"{{}:0} [1]:2 \x1a \xef\xbb\xbf".split(b" ")
)


def fastjson_text(data: bytes) -> None:
    """Odd and standard reader agree; what was read is read again once written, in all forms."""
    value = outcome(lambda: fastjson.loads(data), JsonError)
    text = data.decode("utf-8", "replace")
    try:
        standard = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        standard = None
    if standard is not None and text.count("[") + text.count("{") < 100:
        same("the odd reader", comparable(read(text)), comparable(standard))
    if value is None or holds_infinity(value):
        return
    written = fastjson.dumps(value)
    same("read again", fastjson.dumps(fastjson.loads(written)), written)
    fastjson.loads(fastjson.encode(value))
    same(
        "read again, pretty", fastjson.dumps(fastjson.loads(fastjson.dumps_pretty(value))), written
    )
    fastjson.loads(fastjson.dumps_standard(value))


def comparable(value: object) -> str:
    """A form in which 1 differs from 1.0, -0.0 from 0.0, and NaN equals itself."""
    return repr(value)


def holds_infinity(value: object) -> bool:
    """Say whether a number such as 1e999 may be in it: Java and we write null for that."""
    return "inf" in repr(value)


def body(data: bytes) -> None:
    """The body that the first line names: it comes back."""
    name, cls, text = chosen(data, BODIES)
    bean = outcome(lambda: cls.decode(text), BodyError)
    if bean is not None and not holds_infinity(bean):
        same(f"{name} read again", cls.decode(bean.encode()).encode(), bean.encode())


def body_twice(data: bytes) -> None:
    """A body that the typed decoder takes means the same to the lax one."""
    name, cls, text = chosen(data, BODIES)
    try:
        typed = msgspec.json.Decoder(cls, strict=False).decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError, TypeError):
        return  # nothing to compare with, or a class that only the lax one can read
    same(f"{name} read laxly", to_bean(fastjson.loads(text), cls), typed)


def register_body(data: bytes) -> None:
    """A compressed registration: as it is, and as what was compressed."""
    outcome(lambda: RegisterBrokerBody.decode(data, compressed=True), HeaderError)
    packed = zlib.compress(data, 1)
    bean = outcome(lambda: RegisterBrokerBody.decode(packed, compressed=True), HeaderError)
    if bean is None:
        return
    again = RegisterBrokerBody.decode(bean.encode(compressed=True), compressed=True)
    same("read again", again.encode(compressed=True), bean.encode(compressed=True))


def _bodies() -> dict[str, Any]:
    body_modules()  # they must be there to be found
    found: list[type] = [*_below(Body), *_below(FrozenBody), KVConfigSerializeWrapper]
    return {one.__name__: one for one in sorted(found, key=lambda one: one.__name__)}


def _below(cls: type) -> Iterator[type[Any]]:
    subclasses: list[type[Any]] = cls.__subclasses__()
    for one in subclasses:
        if one.__module__.startswith("fakemq.protocol."):
            yield one
        yield from _below(one)


BODIES = _bodies()


def _body_seeds() -> Iterator[bytes]:
    """Every golden body, as each class that it is one of."""
    for cls_name, cls in BODIES.items():
        start = cls_name.encode() + b"\n"
        names = {field.encode_name.encode() for field in msgspec.structs.fields(cls)}
        required = (one.name for one in msgspec.structs.fields(cls) if one.required)
        yield start + cls(**dict.fromkeys(required, "T")).encode()
        for one in golden.bodies():
            if one[:1] == b"{" and names and all(b'"%s"' % name in one for name in names):
                yield start + one


def _registrations() -> Iterator[bytes]:
    for _, way, command in golden.commands():
        if way == ">" and command.ext_fields.get("compressed") == "true":
            yield zlib.decompress(command.body)
    yield RegisterBrokerBody(filter_server_list=["one"]).encode(compressed=False)


_LAX = ("fastjson", "fastjson_reader", "beans")
_TEXTS = ("bodies.body", "bodies.topic", *_LAX)

TARGETS = (
    Target("fastjson", fastjson_text, _LAX[:2], golden.json_cases, _WORDS),
    Target("body", body, _TEXTS, _body_seeds, _WORDS),
    Target("body_twice", body_twice, _TEXTS, _body_seeds, _WORDS),
    Target("register_body", register_body, _TEXTS, _registrations, _WORDS),
)
