"""The frame around a command.

Source: remoting/protocol/RemotingCommand.java#encode, #decode (4.9.7)
"""

from __future__ import annotations

from construct import (  # type: ignore[import-untyped]
    Bytes,
    Int8ub,
    Int24ub,
    Int32ub,
    Rebuild,
    Struct,
    len_,
    this,
)

FrameHead = Struct(
    "length" / Int32ub,  # 0: bytes of the frame behind this field
    "serialize_type" / Int8ub,  # 4: 0 JSON, 1 ROCKETMQ; #markProtocolType
    "header_length" / Int24ub,  # 5: bytes of the header
)
assert FrameHead.sizeof() == 8

Frame = Struct(
    "length" / Rebuild(Int32ub, 4 + len_(this.header) + len_(this.body)),  # 0: as above
    "serialize_type" / Int8ub,  # 4
    "header_length" / Rebuild(Int24ub, len_(this.header)),  # 5
    "header" / Bytes(this.header_length),  # 8: JSON, or as in header_binary
    "body" / Bytes(this.length - 4 - this.header_length),  # behind the header: to the end
)
