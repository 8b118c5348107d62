"""The beginning of the file ``checkpoint``, which is 4096 bytes long; the rest is zero.

Source: store/StoreCheckpoint.java#flush (4.9.7)
"""

from __future__ import annotations

from construct import Int64sb, Struct  # type: ignore[import-untyped]

Checkpoint = Struct(
    "physic_msg_timestamp" / Int64sb,  # 0: ms, store time of the last record flushed
    "logics_msg_timestamp" / Int64sb,  # 8: ms, of the last one in a flushed consume queue
    "index_msg_timestamp" / Int64sb,  # 16: ms, of the last one in a flushed index file
)
assert Checkpoint.sizeof() == 24
