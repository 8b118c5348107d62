"""An index file: a header, 5 000 000 slots, 20 000 000 entries.

Source: store/index/IndexHeader.java, store/index/IndexFile.java#putKey (4.9.7)
"""

from __future__ import annotations

from construct import Int32sb, Int64sb, Struct  # type: ignore[import-untyped]

IndexHeader = Struct(
    "begin_timestamp" / Int64sb,  # 0: ms, store time of the first message in it
    "end_timestamp" / Int64sb,  # 8: ms, store time of the last
    "begin_phy_offset" / Int64sb,  # 16: bytes, commit-log offset of the first
    "end_phy_offset" / Int64sb,  # 24: bytes, of the last
    "hash_slot_count" / Int32sb,  # 32: slots in use
    "index_count" / Int32sb,  # 36: entries in use, plus one: entry 0 is never used
)
assert IndexHeader.sizeof() == 40

IndexSlot = Struct(
    "newest_entry" / Int32sb,  # 0: number of the newest entry of this slot, 0 for none
)
assert IndexSlot.sizeof() == 4

IndexEntry = Struct(
    "key_hash" / Int32sb,  # 0: IndexFile.java#indexKeyHashMethod of "topic#key"
    "phy_offset" / Int64sb,  # 4: bytes, where the record is
    "time_diff" / Int32sb,  # 12: seconds from the header's begin_timestamp to its store time
    "previous_entry" / Int32sb,  # 16: number of the next older entry of the slot, 0 for none
)
assert IndexEntry.sizeof() == 20
