"""Number and object keys without quotes, as fastjson writes them, turned into standard JSON.

``{0:"ip:port"}`` and ``{{"queueId":0}:1}`` are in every route and table of offsets. With quotes
around such keys msgspec reads them, many times as fast as `fastjson_reader`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from fakemq.protocol.fastjson_values import ObjectKey

_STRING = rb'"(?:[^"\\\x00-\x1f]++|\\.)*+"'
_FLAT = rb'\{(?:[^"{}\[\]]++|' + _STRING + rb")*+\}"
# No blank may stand between a number and its colon.
_NUMBER_KEY = rb"-?(?:0|[1-9][0-9]{0,18})(?=:)"
_OBJECT_KEY = _FLAT + rb"(?=\s*+:)"
# No quantifier can give back what it took: a text is read once, whatever is in it.
_TO_KEY = {
    kind: re.compile(
        rb'((?:[^"{,]++|' + _STRING + rb"|[{,](?!\s*+(?:" + key + rb")))*+)"
        rb"(?:([{,]\s*+)(" + key + rb"))?"
    )
    for kind, key in (("number", _NUMBER_KEY), ("any", _NUMBER_KEY + rb"|" + _OBJECT_KEY))
}
_MARK = "\x01"
"""What a key begins with that had no quotes. A text that has it itself is not read here."""
_WRITTEN_MARK = b"\\u0001"


def with_number_keys_quoted(text: bytes, most_bytes: int) -> bytes | None:
    """Return the text with quotes around each number that is a key.

    Return None if there is none, or the text is longer than ``most_bytes`` or no JSON.

    A decoder with types reads these texts as the numbers that they are.
    """
    return _quoted(text, "number", b"") if _is_likely(text, most_bytes) else None


def decode(text: bytes, most_bytes: int) -> Any:
    """Return what a text says that is standard JSON but for its keys; see `fastjson.loads`.

    Raise what msgspec raises for any other text.
    """
    if _WRITTEN_MARK in text or not _is_likely(text, most_bytes):
        raise msgspec.DecodeError("this is another text")
    quoted = _quoted(text, "any", _WRITTEN_MARK)
    if quoted is None:
        raise msgspec.DecodeError("no key is without quotes")
    return _restored(msgspec.json.decode(quoted))


_MOST_ESCAPES = 100_000


def _is_likely(text: bytes, most_bytes: int) -> bool:
    """Return whether it is worth reading a text: strings and escapes cost more than other bytes.

    Behind each comma or bracket two strings can stand, a key and a value.
    """
    if len(text) > most_bytes:
        return False
    escapes, escaped = text.count(b"\\"), text.count(b'\\"')
    items = 1 + text.count(b",") + text.count(b"{") + text.count(b"[")
    return escapes <= _MOST_ESCAPES and text.count(b'"') - escaped <= 4 * items


def _quoted(text: bytes, kind: str, mark: bytes) -> bytes | None:
    match, at, out = _TO_KEY[kind].match, 0, list[bytes]()
    while (found := match(text, at)) is not None:
        between, before, key = found.groups()
        out.append(between)
        at = found.end()
        if key is None:
            break
        if key[:1] == b"{":
            key = key.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        out += (before, b'"', mark, key, b'"')
    if len(out) == 1 or at < len(text):  # a string without an end
        return None
    return b"".join(out)


def _restored(value: Any) -> Any:
    """Return a value with the keys that the text had."""
    if isinstance(value, dict):
        return {_key(key): _restored(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_restored(one) for one in value]
    return value


def _key(key: str) -> Any:
    if not key.startswith(_MARK):
        return key
    value = msgspec.json.decode(key[1:])
    return ObjectKey(value) if isinstance(value, dict) else value
