"""JSON of values with texts of peers, which may contain half a surrogate pair."""

from __future__ import annotations

import msgspec

_encoder = msgspec.json.Encoder(enc_hook=list)  # a range


def encoded(value: object) -> bytes:
    """Return ``value`` as JSON; half a surrogate pair in a text becomes a question mark."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_sound(msgspec.to_builtins(value, enc_hook=list)))


def _sound(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [_sound(one) for one in value]
    if isinstance(value, dict):
        return {_sound(name): _sound(one) for name, one in value.items()}
    return value
