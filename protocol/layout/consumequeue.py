"""One entry of a consume queue, and the head of a unit of its extension.

A file holds 300 000 entries.
Source: store/ConsumeQueue.java#putMessagePositionInfo, store/ConsumeQueueExt.java (4.9.7)
"""

from __future__ import annotations

from construct import Int16sb, Int32sb, Int64sb, Struct  # type: ignore[import-untyped]

ConsumeQueueUnit = Struct(
    "physical_offset" / Int64sb,  # 0: bytes from the commit log's very beginning
    "size" / Int32sb,  # 8: bytes of the record; 0x7FFFFFFF in a blank before the first entry
    # 12: String.hashCode of TAGS; in the schedule topic ms when due; or, below every such hash, the
    # place of a unit in the extension, plus -2^63.
    "tags_code" / Int64sb,
)
assert ConsumeQueueUnit.sizeof() == 20

ExtensionHead = Struct(
    "size" / Int16sb,  # 0: of the unit; -1 behind the last one of a full file
    "tags_code" / Int64sb,  # 2
    "store_timestamp" / Int64sb,  # 10: ms
    "bit_map_bytes" / Int16sb,  # 18: bytes of the bits of filters, which follow
)
assert ExtensionHead.sizeof() == 20
