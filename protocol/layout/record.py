"""A message in the commit log, and in the body of a pull response.

Source: store/CommitLog.java#MessageExtEncoder.encode, #calMsgLength; the two fields known only
under the lock, and the blank: #DefaultAppendMessageCallback.doAppend (4.9.7)
"""

from __future__ import annotations

from construct import (  # type: ignore[import-untyped]
    Bytes,
    Const,
    GreedyBytes,
    IfThenElse,
    Int8sb,
    Int16sb,
    Int32sb,
    Int64sb,
    Prefixed,
    Rebuild,
    Struct,
    len_,
    this,
)

MESSAGE_MAGIC_CODE = -626843481  # 0xDAA320A7
BLANK_MAGIC_CODE = -875286124  # 0xCBD43194

BORNHOST_V6_FLAG = 0x10
STOREHOSTADDRESS_V6_FLAG = 0x20

_FIXED_BYTES = 75  # all but the hosts and what is counted

RecordHead = Struct(
    "total_size" / Int32sb,  # 0: bytes of the record, or of the blank
    "magic_code" / Int32sb,  # 4: one of the two above
)
assert RecordHead.sizeof() == 8

Blank = Struct(
    "total_size" / Int32sb,  # 0: bytes left in the file, these 8 included
    "magic_code" / Const(BLANK_MAGIC_CODE, Int32sb),  # 4
)
assert Blank.sizeof() == 8

# In the offsets below, b and s are the bytes of the two hosts: 8 for IPv4, 20 for IPv6.
Record = Struct(
    "total_size"  # 0: bytes of the record
    / Rebuild(
        Int32sb,
        _FIXED_BYTES
        + len_(this.born_host)
        + len_(this.store_host)
        + len_(this.body)
        + len_(this.topic)
        + len_(this.properties),
    ),
    "magic_code" / Const(MESSAGE_MAGIC_CODE, Int32sb),  # 4
    "body_crc" / Int32sb,  # 8: CRC32 of the body, top bit cleared; UtilAll.java#crc32
    "queue_id" / Int32sb,  # 12
    "flag" / Int32sb,  # 16: the producer's own; MessageExt.flag
    "queue_offset" / Int64sb,  # 20: entry of the consume queue; 0 if prepared or rolled back
    "physical_offset" / Int64sb,  # 28: bytes from the log's very beginning
    "sys_flag" / Int32sb,  # 36: MessageSysFlag
    "born_timestamp" / Int64sb,  # 40: ms, the producer's clock
    "born_host"  # 48: ip 4 or 16, port int32
    / IfThenElse(this.sys_flag & BORNHOST_V6_FLAG, Bytes(20), Bytes(8)),
    "store_timestamp" / Int64sb,  # 48 + b: ms, the broker's clock
    "store_host"  # 56 + b: ip 4 or 16, port int32
    / IfThenElse(this.sys_flag & STOREHOSTADDRESS_V6_FLAG, Bytes(20), Bytes(8)),
    "reconsume_times" / Int32sb,  # 56 + b + s
    "prepared_transaction_offset" / Int64sb,  # 60 + b + s: bytes; where the half message is
    "body" / Prefixed(Int32sb, GreedyBytes),  # 68 + b + s
    "topic" / Prefixed(Int8sb, GreedyBytes),  # 72 + b + s + body: UTF-8
    "properties" / Prefixed(Int16sb, GreedyBytes),  # 73 + b + s + body + topic: UTF-8
)


# One message in the body of a SEND_BATCH_MESSAGE; they follow each other without a gap.
#
# Source: common/message/MessageDecoder.java#encodeMessage, #decodeMessage (4.9.7)

BatchMember = Struct(
    "total_size"  # 0: bytes of the member; written, never read
    / Rebuild(Int32sb, 22 + len_(this.body) + len_(this.properties)),
    "magic_code" / Int32sb,  # 4: written 0, never read
    "body_crc" / Int32sb,  # 8: written 0, never read
    "flag" / Int32sb,  # 12: the producer's own
    "body" / Prefixed(Int32sb, GreedyBytes),  # 16
    "properties" / Prefixed(Int16sb, GreedyBytes),  # 20 + body: UTF-8
)
