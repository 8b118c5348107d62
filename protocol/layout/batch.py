"""One message in the body of a SEND_BATCH_MESSAGE; they follow each other without a gap.

Source: common/message/MessageDecoder.java#encodeMessage, #decodeMessage (4.9.7)
"""

from __future__ import annotations

from construct import (  # type: ignore[import-untyped]
    GreedyBytes,
    Int16sb,
    Int32sb,
    Prefixed,
    Rebuild,
    Struct,
    len_,
    this,
)

BatchMember = Struct(
    "total_size"  # 0: bytes of the member; written, never read
    / Rebuild(Int32sb, 22 + len_(this.body) + len_(this.properties)),
    "magic_code" / Int32sb,  # 4: written 0, never read
    "body_crc" / Int32sb,  # 8: written 0, never read
    "flag" / Int32sb,  # 12: the producer's own
    "body" / Prefixed(Int32sb, GreedyBytes),  # 16
    "properties" / Prefixed(Int16sb, GreedyBytes),  # 20 + body: UTF-8
)
