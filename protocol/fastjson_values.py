"""What both readers of fastjson's dialect share: the limit, the error, objects as keys."""

from __future__ import annotations

from typing import Any

from fakemq.protocol.errors import RemoteProtocolError

MAX_DEPTH = 128
"""Deeper nesting is refused when a text is read or written, so that none exhausts the stack."""


class JsonError(RemoteProtocolError, ValueError):
    """Raised for a text that even fastjson does not read; says where."""


class ObjectKey(dict[str, Any]):
    """An object that is a key of a map; it must not be changed."""

    def __hash__(self) -> int:  # type: ignore[override]  # dict says it has none
        return hash(repr(self))
