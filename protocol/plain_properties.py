"""The properties of most sends: a broker stores them, and acts on none.

What the store wants of them is made from their text in one step, by speedups.c where it is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from fakemq.protocol.header import parse_bool
from fakemq.protocol.message import tags_code
from fakemq.protocol.native import plain_properties as _in_c
from fakemq.protocol.properties import (
    KEYS,
    NAME_VALUE_SEPARATOR,
    PROPERTIES_MAX_BYTES,
    PROPERTY_SEPARATOR,
    TAGS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    WAIT_STORE_MSG_OK,
    decode_properties,
)
from fakemq.protocol.usual_headers import ACTED_ON

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.protocol.properties import PropertiesEncoder

PlainProperties: TypeAlias = "tuple[Any, ...]"
"""The properties as they are stored, in bytes, the hash of their tags, the unique id ("": none),
whether there are keys, and whether the producer waits until the message is stored.

Its type has no more, because compiled code would take it apart wherever it is passed on."""


class StoredForm:
    """How a broker stores the properties of plain messages, with values of its config.

    ``added`` are those that it adds itself, ``without`` is one that it leaves out ("": none).
    ``encode`` writes them: in the order of a map of ``buckets``, and with a separator behind the
    last one if it ``ends`` so.
    """

    __slots__ = ("added", "buckets", "encode", "ends", "text", "without")

    def __init__(
        self,
        added: Mapping[str, str],
        without: str,
        encode: PropertiesEncoder,
        buckets: int,
        ends: bool,
    ) -> None:
        self.added = dict(added)
        pairs = [f"{name}{NAME_VALUE_SEPARATOR}{value}" for name, value in added.items()]
        self.text: str = PROPERTY_SEPARATOR.join(pairs)
        """Those that it adds, as text."""
        self.without = without
        self.encode = encode
        self.buckets = buckets
        self.ends = ends

    def of(self, text: str) -> PlainProperties | None:
        """Return what the store wants of the properties in ``text``; None if they are not plain."""
        if _in_c is not None:
            found: PlainProperties | None = _in_c(
                text, self.text, self.without, self.buckets, self.ends
            )
            if found is not None:
                return found
        return self.of_any(text)

    def of_any(self, text: str) -> PlainProperties | None:
        """As `of`, always in Python."""
        properties = decode_properties(text)
        if not ACTED_ON.isdisjoint(properties):
            return None
        properties |= self.added
        stored = self.encode(properties, self.without or None).encode("utf-8", "replace")
        if len(stored) > PROPERTIES_MAX_BYTES:
            return None
        wait = properties.get(WAIT_STORE_MSG_OK)
        return (
            stored,
            tags_code(properties.get(TAGS)),
            properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
            KEYS in properties,
            # Most producers send the very text "true", which needs no call.
            not wait or wait == "true" or parse_bool(wait),
        )
