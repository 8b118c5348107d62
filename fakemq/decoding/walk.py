"""Walks through bytes along a declaration of `fakemq.protocol.layout`, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any, NamedTuple

from construct import (  # type: ignore[import-untyped]
    ConstError,
    ConstructError,
    Prefixed,
    Renamed,
    StreamError,
)

from fakemq.decoding.fields import BrokenError, Explained, Field
from fakemq.dump.show import time_text
from fakemq.protocol.hosts import format_host, unpack_host
from fakemq.protocol.sysflag import MessageSysFlag


def walk(
    layout: Any, data: bytes, start: int, end: int, *, depth: int = 0, origin: int = 0
) -> Explained[dict[str, Any]]:
    """Explain the structure from ``start`` on, within ``end``; return its values by name.

    ``data`` begins at offset ``origin`` of the input. Raise BrokenError at the first field that
    cannot be read.
    """
    stream = BytesIO(data[start:end])
    values: dict[str, Any] = {}
    for part in layout.subcons:
        name = part.name
        place = start + stream.tell()
        inner = part.subcon if isinstance(part, Renamed) else part
        left = end - place
        try:
            if isinstance(inner, Prefixed):
                length = inner.lengthfield.parse_stream(stream)
                content = start + stream.tell()
                yield Field(origin + place, content - place, f"{name}_length", length, depth=depth)
                if not 0 <= length <= end - content:
                    raise BrokenError(
                        origin + place,
                        f"{name}_length is {length}; {end - content} bytes follow it",
                    )
                place, value = content, stream.read(length)
            else:
                value = inner.parse_stream(stream, **values)
        except ConstError as error:
            raise BrokenError(origin + place, f"{name}: {_first_line(error)}") from None
        except StreamError as error:
            text = f"{name}: {left} bytes are left, which is too few"
            if left < 0 or "negative" in str(error):
                text = f"{name} has a negative size; the lengths before it do not fit together"
            raise BrokenError(origin + place, text) from None
        except ConstructError as error:
            raise BrokenError(origin + place, f"{name}: {_first_line(error)}") from None
        values[name] = value
        size = start + stream.tell() - place
        note = meaning(name, value, values)
        yield Field(origin + place, size, name, value, note, depth)
    return values


class Walked(NamedTuple):
    """The fields that were read, their values, and why there are no more."""

    fields: list[Field]
    values: dict[str, Any]
    error: BrokenError | None


def collected(walking: Explained[dict[str, Any]]) -> Walked:
    """Walk to the end, or to the first field that cannot be read."""
    fields: list[Field] = []
    error = None
    try:
        for item in walking:
            assert isinstance(item, Field)
            fields.append(item)
    except BrokenError as broken:
        error = broken
    return Walked(fields, {field.name: field.value for field in fields}, error)


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line and not line.startswith("Error in")]
    return lines[0] if lines else type(error).__name__


# What numbers in binary structures mean to a person.

_V4_OR_V6_BYTES = (8, 20)
_FLAGS = {
    MessageSysFlag.MULTI_TAGS: "several tags",
    MessageSysFlag.BORNHOST_V6: "born host is IPv6",
    MessageSysFlag.STOREHOSTADDRESS_V6: "store host is IPv6",
    MessageSysFlag.NEED_UNWRAP: "to unwrap",
    MessageSysFlag.INNER_BATCH: "inner batch",
}
_TRANSACTIONS = {
    MessageSysFlag.TRANSACTION_PREPARED_TYPE: "half message",
    MessageSysFlag.TRANSACTION_COMMIT_TYPE: "committed",
    MessageSysFlag.TRANSACTION_ROLLBACK_TYPE: "rolled back",
}
_COMPRESSIONS = {
    0: "zlib",
    MessageSysFlag.COMPRESSION_LZ4_TYPE: "lz4",
    MessageSysFlag.COMPRESSION_ZSTD_TYPE: "zstd",
    MessageSysFlag.COMPRESSION_ZLIB_TYPE: "zlib",
}
SERIALIZE_TYPES = {0: "JSON", 1: "ROCKETMQ"}


def meaning(name: str, value: object, before: Mapping[str, object]) -> str:
    """Return what a field's value means; "" if it speaks for itself.

    ``before`` are the fields of the structure up to this one.
    """
    if isinstance(value, bytes):
        return _host(value) if name.endswith("_host") else ""
    if not isinstance(value, int):
        return ""
    if name.endswith("timestamp") and value > 0:
        return time_text(value)
    if name in ("magic_code", "magic") or name.endswith("_crc"):
        return f"0x{value & 0xFFFFFFFF:08X}"
    if name == "serialize_type":
        return SERIALIZE_TYPES.get(value, "unknown: 0 (JSON) and 1 (ROCKETMQ) are known")
    if name == "sys_flag":
        return ", ".join(_of_sys_flag(value))
    return ""


def _host(packed: bytes) -> str:
    return format_host(unpack_host(packed)) if len(packed) in _V4_OR_V6_BYTES else ""


def _of_sys_flag(value: int) -> list[str]:
    parts = [text for bit, text in _FLAGS.items() if value & bit]
    transaction = _TRANSACTIONS.get(value & MessageSysFlag.TRANSACTION_MASK)
    parts += [transaction] if transaction else []
    if value & MessageSysFlag.COMPRESSED:
        compression = value & MessageSysFlag.COMPRESSION_TYPE_MASK
        parts.append(f"compressed by {_COMPRESSIONS.get(compression, 'an unknown way')}")
    return parts
