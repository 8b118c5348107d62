"""The bits of the integers called sysFlag, and of a permission.

Plain integers, not enums: they are tested on every message, and an IntFlag costs a microsecond
each time.

Source: common/sysflag/*.java, common/constant/PermName.java (4.9.7)
"""

from __future__ import annotations

from typing import Final

from fakemq.protocol.errors import RemoteProtocolError


class MessageSysFlag:
    """The bits of a stored message's sysFlag."""

    COMPRESSED: Final = 0x1
    MULTI_TAGS: Final = 0x2
    TRANSACTION_NOT_TYPE: Final = 0
    TRANSACTION_PREPARED_TYPE: Final = 0x4
    TRANSACTION_COMMIT_TYPE: Final = 0x8
    TRANSACTION_ROLLBACK_TYPE: Final = 0xC
    TRANSACTION_MASK: Final = 0xC
    BORNHOST_V6: Final = 0x10
    STOREHOSTADDRESS_V6: Final = 0x20
    NEED_UNWRAP: Final = 0x40
    INNER_BATCH: Final = 0x80
    COMPRESSION_LZ4_TYPE: Final = 0x100
    COMPRESSION_ZSTD_TYPE: Final = 0x200
    COMPRESSION_ZLIB_TYPE: Final = 0x300
    COMPRESSION_TYPE_MASK: Final = 0x700


UNQUEUED: Final = (
    MessageSysFlag.TRANSACTION_PREPARED_TYPE,
    MessageSysFlag.TRANSACTION_ROLLBACK_TYPE,
)
"""Transaction types whose records come into no consume queue."""


class PullSysFlag:
    """The bits of a pull request's sysFlag."""

    COMMIT_OFFSET: Final = 0x1
    SUSPEND: Final = 0x2
    SUBSCRIPTION: Final = 0x4
    CLASS_FILTER: Final = 0x8
    LITE_PULL_MESSAGE: Final = 0x10


class TopicSysFlag:
    """The bits of a topic's sysFlag."""

    UNIT: Final = 0x1
    UNIT_SUB: Final = 0x2


class PermName:
    """The bits of a topic's or broker's permission."""

    PRIORITY: Final = 0x8
    READ: Final = 0x4
    WRITE: Final = 0x2
    INHERIT: Final = 0x1
    READ_WRITE: Final = READ | WRITE


def transaction_type(sys_flag: int) -> int:
    """Return which of the four TRANSACTION_*_TYPE a message is."""
    return sys_flag & MessageSysFlag.TRANSACTION_MASK


def with_transaction_type(sys_flag: int, transaction: int) -> int:
    """``sys_flag`` with its transaction type replaced."""
    return sys_flag & ~MessageSysFlag.TRANSACTION_MASK | transaction


def compression_name(sys_flag: int) -> str:
    """``lz4``, ``zstd`` or ``zlib``: how a body with the COMPRESSED bit is compressed.

    Raises RemoteProtocolError for the four values that mean nothing.

    Source: common/compression/CompressionType.java#findByValue (4.9.7)
    """
    compression = sys_flag & MessageSysFlag.COMPRESSION_TYPE_MASK
    if compression == MessageSysFlag.COMPRESSION_LZ4_TYPE:
        return "lz4"
    if compression == MessageSysFlag.COMPRESSION_ZSTD_TYPE:
        return "zstd"
    # Before there were compression types, all was zlib and the bits were 0.
    if compression in (0, MessageSysFlag.COMPRESSION_ZLIB_TYPE):
        return "zlib"
    raise RemoteProtocolError(
        f"compression type {compression >> 8} in sysFlag {sys_flag:#x};"
        " 1 (LZ4), 2 (ZSTD), 3 and 0 (ZLIB) are known"
    )


def perm_to_string(perm: int) -> str:
    """Return a permission as Java prints it: ``RW-``, ``RWX``."""
    return "".join(
        letter if perm & bit else "-"
        for letter, bit in (("R", PermName.READ), ("W", PermName.WRITE), ("X", PermName.INHERIT))
    )
