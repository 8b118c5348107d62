"""JSON of values with texts of peers, which may contain half a surrogate pair."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps

LONG_LIST = 1_000
"""A list of more values takes long to encode: use `parts`."""
_VALUES_A_PART = 100
_encoder = msgspec.json.Encoder(enc_hook=list)  # a range


def encoded(value: object) -> bytes:
    """Return ``value`` as JSON; half a surrogate pair in a text becomes a question mark."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_sound(msgspec.to_builtins(value, enc_hook=list)))


def parts(values: list[Any]) -> Steps[list[bytes]]:
    """Return the JSON of a long list, in steps, as parts that make the whole text together.

    ``values`` is empty then.
    """
    found: list[bytes] = []
    left = deque(values)
    values.clear()  # each value is freed in its step: all together would take long
    while left:
        text = encoded([left.popleft() for _ in range(min(_VALUES_A_PART, len(left)))])
        found.append((b"," if found else b"[") + text[1:-1])
        yield
    found.append(b"]")
    return found


def _sound(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [_sound(one) for one in value]
    if isinstance(value, dict):
        return {_sound(name): _sound(one) for name, one in value.items()}
    return value
