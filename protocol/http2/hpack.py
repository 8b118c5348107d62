"""HPACK: how the header fields of HTTP/2 are written, and the limits of what a peer may write.

Source: RFC 7541
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fakemq.protocol.http2.huffman import HuffmanError, decode

# The static table of HPACK.
#
# Source: RFC 7541, appendix A

STATIC: Final = (
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
)
"""Fields by their index, which begins with 1."""


Fields = Iterable[tuple[str, str]]

TABLE_MAX_BYTES: Final = 4096
"""What a peer's table may hold, as by default."""

LIST_MAX_BYTES: Final = 8192
"""The fields of one list, 32 bytes added for each.

Source: io/grpc/internal/GrpcUtil.java#DEFAULT_MAX_HEADER_LIST_SIZE (grpc-java)
"""

_EXCESS_MAX_BYTES: Final = LIST_MAX_BYTES // 4
"""How much larger a list may be that is only refused; beyond it the connection is over.

Source: io/netty/handler/codec/http2/Http2CodecUtil.java#calculateMaxHeaderListSizeGoAway (netty)
"""

_RESIZES_MAX: Final = 100
"""How many new sizes of the table may stand before the first field of a list; two make sense."""

_FIELD_BYTES: Final = 32
_FIRST_DYNAMIC: Final = len(STATIC) + 1


class HpackError(Exception):
    """Bytes that are no list of fields: the tables of the two ends differ from now on."""


class HeaderDecoder:
    """Reads the lists of one connection, in their order, with the table that they fill."""

    def __init__(self) -> None:
        self.list_bytes = 0
        """The size of the last list, 32 bytes added for each field."""
        self._table: list[tuple[str, str]] = []  # oldest first
        self._table_bytes = 0
        self._table_max_bytes = TABLE_MAX_BYTES

    def decode(self, data: bytes) -> dict[str, str] | None:
        """Return the fields by name, the last of each; None if they are too large.

        Raise HpackError, also for a list that is far too large.
        """
        fields: dict[str, str] = {}
        at, end, left_bytes = 0, len(data), LIST_MAX_BYTES
        resizes_left = _RESIZES_MAX
        try:
            while at < end:
                byte = data[at]
                if byte >= 0x80:
                    index, at = (byte & 0x7F, at + 1) if byte < 0xFF else _number(data, at, 0x7F)
                    name, value = self._field(index)
                elif 0x20 <= byte < 0x40:
                    if not resizes_left:
                        raise HpackError("a new size of the table where none may be")
                    resizes_left -= 1
                    size_bytes, at = _number(data, at, 0x1F)
                    self._resize(size_bytes)
                    continue
                else:
                    mask = 0x3F if byte >= 0x40 else 0x0F
                    index, at = _number(data, at, mask)
                    if index:
                        name = self._field(index)[0]
                    else:
                        name, at = _text(data, at, end)
                    value, at = _text(data, at, end)
                    if byte >= 0x40:
                        self._add(name, value)
                resizes_left = 0
                left_bytes -= len(name) + len(value) + _FIELD_BYTES
                if left_bytes >= 0:
                    fields[name] = value
                elif left_bytes < -_EXCESS_MAX_BYTES:
                    raise HpackError("a list of fields that is far too large")
        except IndexError:
            raise HpackError("a list of fields that ends early") from None
        except HuffmanError as error:
            raise HpackError(str(error)) from None
        self.list_bytes = LIST_MAX_BYTES - left_bytes
        return fields if left_bytes >= 0 else None

    def _field(self, index: int) -> tuple[str, str]:
        if 0 < index < _FIRST_DYNAMIC:
            return STATIC[index - 1]
        number = index - _FIRST_DYNAMIC
        if not 0 <= number < len(self._table):
            raise HpackError(f"no field has the index {index}")
        return self._table[-1 - number]

    def _resize(self, size_bytes: int) -> None:
        if size_bytes > TABLE_MAX_BYTES:
            raise HpackError(f"a table of {size_bytes} bytes; {TABLE_MAX_BYTES} is the most")
        self._table_max_bytes = size_bytes
        self._evict()

    def _add(self, name: str, value: str) -> None:
        self._table.append((name, value))
        self._table_bytes += len(name) + len(value) + _FIELD_BYTES
        if self._table_bytes > self._table_max_bytes:
            self._evict()

    def _evict(self) -> None:
        count = 0
        for name, value in self._table:
            if self._table_bytes <= self._table_max_bytes:
                break
            self._table_bytes -= len(name) + len(value) + _FIELD_BYTES
            count += 1
        del self._table[:count]


def _number(data: bytes, at: int, mask: int) -> tuple[int, int]:
    """Return the number at a place, whose first byte has ``mask``, and the place behind it."""
    number, at = data[at] & mask, at + 1
    if number < mask:
        return number, at
    for shift in (0, 7, 14, 21):
        byte = data[at]
        at += 1
        number += (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise HpackError("a number of over four bytes")


def _text(data: bytes, at: int, end: int) -> tuple[str, int]:
    """Return the text at a place, and the place behind it."""
    size_bytes, start = _number(data, at, 0x7F)
    stop = start + size_bytes
    if stop > end:
        raise HpackError("a list of fields that ends early")
    text = data[start:stop]
    return (decode(text) if data[at] >= 0x80 else text).decode("latin-1"), stop


_NAMES: Final = {name: number for number, (name, _) in reversed(list(enumerate(STATIC, 1)))}
_WHOLE: Final = {field: number for number, field in enumerate(STATIC, 1)}


def encode(fields: Fields) -> bytes:
    """Return a list of fields that needs no table of its reader, and adds nothing to it."""
    out = bytearray()
    for name, value in fields:
        index = _WHOLE.get((name, value))
        if index:
            out.append(0x80 | index)
            continue
        out += _written(_NAMES.get(name, 0), 0x0F)
        if name not in _NAMES:
            out += _written(len(name), 0x7F)
            out += name.encode("latin-1")
        out += _written(len(value), 0x7F)
        out += value.encode("latin-1")
    return bytes(out)


def _written(number: int, mask: int) -> bytes:
    if number < mask:
        return bytes((number,))
    out, number = bytearray((mask,)), number - mask
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
