"""What numbers in binary structures mean to a person."""

from __future__ import annotations

from collections.abc import Mapping

from fakemq.dump.show import time_text
from fakemq.protocol.hosts import format_host, unpack_host
from fakemq.protocol.sysflag import MessageSysFlag

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
