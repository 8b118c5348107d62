"""The bits of a message's system flag."""

from __future__ import annotations

import pytest

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.sysflag import (
    MessageSysFlag,
    PermName,
    compression_name,
    perm_to_string,
    transaction_type,
    with_transaction_type,
)


def test_transaction_types_are_bits() -> None:
    flag = MessageSysFlag.COMPRESSED | MessageSysFlag.TRANSACTION_PREPARED_TYPE
    assert transaction_type(flag) == MessageSysFlag.TRANSACTION_PREPARED_TYPE
    flag = with_transaction_type(flag, MessageSysFlag.TRANSACTION_COMMIT_TYPE)
    assert flag == MessageSysFlag.COMPRESSED | MessageSysFlag.TRANSACTION_COMMIT_TYPE


@pytest.mark.parametrize(
    ("bits", "name"), [(0, "zlib"), (0x100, "lz4"), (0x200, "zstd"), (0x300, "zlib")]
)
def test_compression_types_have_names(bits: int, name: str) -> None:
    assert compression_name(bits | MessageSysFlag.COMPRESSED) == name


@pytest.mark.parametrize("bits", [0x400, 0x500, 0x600, 0x700])
def test_unknown_compression_is_a_remote_error(bits: int) -> None:
    with pytest.raises(RemoteProtocolError, match=f"compression type {bits >> 8}"):
        compression_name(bits)


def test_permissions_are_printed_as_by_java() -> None:
    assert perm_to_string(PermName.READ | PermName.WRITE) == "RW-"
    assert perm_to_string(7) == "RWX"
    assert perm_to_string(PermName.PRIORITY) == "---"
