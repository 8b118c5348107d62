"""The files of a store beside its log: consume queues and their extensions, index, checkpoint."""

from __future__ import annotations

from construct import Int16sb, Int32sb, Int64sb, Struct  # type: ignore[import-untyped]

# One entry of a consume queue, and the head of a unit of its extension. A file holds 300 000
# entries.
#
# Source: store/ConsumeQueue.java#putMessagePositionInfo, store/ConsumeQueueExt.java (4.9.7)

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


# An index file: a header, 5 000 000 slots, 20 000 000 entries.
#
# Source: store/index/IndexHeader.java, store/index/IndexFile.java#putKey (4.9.7)

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


# The beginning of the file ``checkpoint``, which is 4096 bytes long; the rest is zero.
#
# Source: store/StoreCheckpoint.java#flush (4.9.7)

Checkpoint = Struct(
    "physic_msg_timestamp" / Int64sb,  # 0: ms, store time of the last record flushed
    "logics_msg_timestamp" / Int64sb,  # 8: ms, of the last one in a flushed consume queue
    "index_msg_timestamp" / Int64sb,  # 16: ms, of the last one in a flushed index file
)
assert Checkpoint.sizeof() == 24
