"""Every field of every body with every odd value: decoded, or refused by one kind of error."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec
import pytest

from fakemq.protocol.bodies.body import Body, FrozenBody
from fakemq.protocol.errors import HeaderError
from tests.support.body_modules import body_modules

ODD_VALUES = [
    *("0", "-1", "1.9", "1e400", "-1e400", "1e999999", "9" * 400, "NaN"),
    *("2147483648", "9223372036854775808", "null", '""', '"x"', "[]", "{}", "true", '"\\ud800"'),
    *(
        "[[]]",
        "[{}]",
        "{1:2}",
        "{{}:{}}",
        "{[]:[]}",
        "{null:null}",
        '{"":""}',
        "[null]",
        "1L",
        "1D",
    ),
    *('"NULL"', '"1,0"', '"+-1"', '"' + "9" * 400 + '"', "[" * 150, "", "'x'"),
    *('"1e400"', '"nan"', '"Infinity"', '"\u0663"', "+1", "1.", "0x1", "{true:1}", "{1e400:1}"),
]
TYPE_INFO = cache(msgspec.inspect.type_info)
BODIES = [
    kind
    for module in body_modules()
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, (Body, FrozenBody)) and len(vars(kind)) > 0
]


def texts(kind: type[msgspec.Struct], depth: int = 2) -> Iterator[str]:
    """Return a JSON text for each field and odd value, also in the fields of fields."""
    yield from ODD_VALUES
    if depth == 0:
        return
    for field in msgspec.structs.fields(kind):
        for text in inner(TYPE_INFO(field.type), depth):
            yield f'{{"{field.encode_name}":{text}}}'


def inner(kind: msgspec.inspect.Type, depth: int) -> Iterator[str]:
    yield from ODD_VALUES
    if isinstance(kind, msgspec.inspect.UnionType):
        for one in kind.types:
            yield from inner(one, depth)
    elif isinstance(kind, msgspec.inspect.StructType):
        yield from texts(kind.cls, depth - 1)
    elif isinstance(kind, (msgspec.inspect.ListType, msgspec.inspect.VarTupleType)):
        yield from (f"[{text}]" for text in inner(kind.item_type, depth - 1))
    elif isinstance(kind, msgspec.inspect.DictType):
        yield from (f'{{"a":{text}}}' for text in inner(kind.value_type, depth - 1))
        yield from (f"{{{text}:1}}" for text in inner(kind.key_type, depth - 1))


@pytest.mark.parametrize("kind", dict.fromkeys(BODIES), ids=lambda kind: kind.__name__)
def test_odd_value_is_read_or_refused(kind: type[Body | FrozenBody]) -> None:
    for text in texts(kind):
        try:
            kind.decode(text.encode("utf-8", "surrogatepass")).encode()
        except HeaderError:
            continue
