"""A command's header in serialize type 1. A length of 0 reads as null.

Source: remoting/protocol/RocketMQSerializable.java#rocketMQProtocolEncode (4.9.7)
"""

from __future__ import annotations

from construct import (  # type: ignore[import-untyped]
    GreedyBytes,
    Int8sb,
    Int16sb,
    Int32sb,
    Prefixed,
    Struct,
)

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
