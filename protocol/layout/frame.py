"""The frame around a command, and the binary form of its header.

Source: remoting/protocol/RemotingCommand.java#encode, #decode (4.9.7)
"""

from __future__ import annotations

from construct import (  # type: ignore[import-untyped]
    Bytes,
    GreedyBytes,
    Int8sb,
    Int8ub,
    Int16sb,
    Int24ub,
    Int32sb,
    Int32ub,
    Prefixed,
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


# A command's header in serialize type 1. A length of 0 reads as null.
#
# Source: remoting/protocol/RocketMQSerializable.java#rocketMQProtocolEncode (4.9.7)

BinaryHeader = Struct(
    "code" / Int16sb,  # 0: RequestCode or ResponseCode
    "language" / Int8sb,  # 2: LanguageCode
    "version" / Int16sb,  # 3: MQVersion
    "opaque" / Int32sb,  # 5: ties a response to its request
    "flag" / Int32sb,  # 9: bit 0 response, bit 1 one-way
    "remark" / Prefixed(Int32sb, GreedyBytes),  # 13: bytes of UTF-8
    "ext_fields" / Prefixed(Int32sb, GreedyBytes),  # 17 + remark: ExtFields without a gap
)

ExtField = Struct(
    "key" / Prefixed(Int16sb, GreedyBytes),  # 0: bytes of UTF-8; #mapSerialize
    "value" / Prefixed(Int32sb, GreedyBytes),  # 2 + key: bytes of UTF-8
)
