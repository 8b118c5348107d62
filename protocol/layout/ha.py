"""What goes between a master and its slaves.

Source: store/ha/HAConnection.java, store/ha/HAService.java#HAClient (4.9.7)
"""

from __future__ import annotations

from construct import Int32sb, Int64sb, Struct  # type: ignore[import-untyped]

TransferHeader = Struct(
    "physical_offset" / Int64sb,  # 0: bytes, where in the log the body begins; #WriteSocketService
    "body_size" / Int32sb,  # 8: bytes that follow; 0 in a heartbeat
)
assert TransferHeader.sizeof() == 12

SlaveAck = Struct(
    "max_offset" / Int64sb,  # 0: bytes, the end of the slave's log; #reportSlaveMaxOffset
)
assert SlaveAck.sizeof() == 8
