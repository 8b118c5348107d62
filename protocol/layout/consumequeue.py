"""One entry of a consume queue; a file holds 300 000.

Source: store/ConsumeQueue.java#putMessagePositionInfo (4.9.7)
"""

from __future__ import annotations

from construct import Int32sb, Int64sb, Struct  # type: ignore[import-untyped]

ConsumeQueueUnit = Struct(
    "physical_offset" / Int64sb,  # 0: bytes from the commit log's very beginning
    "size" / Int32sb,  # 8: bytes of the record; 0x7FFFFFFF in a blank before the first entry
    "tags_code" / Int64sb,  # 12: String.hashCode of TAGS; in the schedule topic ms when due
)
assert ConsumeQueueUnit.sizeof() == 20
