"""What goes between a master and its slaves in controller mode.

``state`` is a number of HAConnectionState: 1 is HANDSHAKE, 2 is TRANSFER.

Source: store/ha/autoswitch/AutoSwitchHAClient.java, AutoSwitchHAConnection.java (5.5.0)
"""

from __future__ import annotations

from construct import Int16sb, Int32sb, Int64sb, Struct  # type: ignore[import-untyped]

SlaveHandshake = Struct(
    "state" / Int32sb,  # 0: HANDSHAKE; #sendHandshakeHeader
    "sync_from_last_file" / Int16sb,  # 4: 1 if an empty slave wants the last file only
    "async_learner" / Int16sb,  # 6: 1 for a slave that never joins the in-sync set
    "broker_id" / Int64sb,  # 8: the id that the controller gave it
)
assert SlaveHandshake.sizeof() == 16

SlaveReport = Struct(
    "state" / Int32sb,  # 0: TRANSFER; #reportSlaveOffset
    "max_offset" / Int64sb,  # 4: bytes, the end of the slave's log
)
assert SlaveReport.sizeof() == 12

MasterHandshake = Struct(
    "state" / Int32sb,  # 0: HANDSHAKE; #buildHandshakeBuffer
    "body_size" / Int32sb,  # 4: bytes of the EpochStarts that follow
    "max_offset" / Int64sb,  # 8: bytes, the end of the master's log
    "last_epoch" / Int32sb,  # 16: that of the last EpochStart; -1 without one
)
assert MasterHandshake.sizeof() == 20

EpochStart = Struct(
    "epoch" / Int32sb,  # 0
    "start_offset" / Int64sb,  # 4: bytes, where in the log it begins
)
assert EpochStart.sizeof() == 12

EpochTransfer = Struct(
    "state" / Int32sb,  # 0: TRANSFER; #buildTransferHeaderBuffer
    "body_size" / Int32sb,  # 4: bytes of the log that follow; 0 in a heartbeat
    "offset" / Int64sb,  # 8: bytes, where in the log they begin
    "epoch" / Int32sb,  # 16
    "epoch_start_offset" / Int64sb,  # 20: bytes
    "confirm_offset" / Int64sb,  # 28: bytes, up to where the in-sync set has the log
)
assert EpochTransfer.sizeof() == 36

CheckpointTail = Struct(
    "master_flushed_offset" / Int64sb,  # 0: bytes, behind the times of the file checkpoint
    "confirm_offset" / Int64sb,  # 8: bytes; store/StoreCheckpoint.java#flush (5.5.0)
)
assert CheckpointTail.sizeof() == 16
