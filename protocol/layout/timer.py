"""The files of timer messages: a unit of the timer log, a slot of the wheel, and the checkpoint.

Source: store/timer/TimerLog.java, store/timer/Slot.java, store/timer/TimerCheckpoint.java (5.5.0)
"""

from __future__ import annotations

from construct import Int32sb, Int64sb, Struct  # type: ignore[import-untyped]

TimerLogUnit = Struct(
    "size" / Int32sb,  # 0: bytes of this unit, always 52
    "previous_position" / Int64sb,  # 4: of the next older unit of the slot, -1 for none
    "magic" / Int32sb,  # 12: 1, plus 2 for a roll, plus 4 for a deletion
    "write_time" / Int64sb,  # 16: ms, the second in which the unit was written
    "delay_time" / Int32sb,  # 24: ms from there to the time of the slot
    "physical_offset" / Int64sb,  # 28: bytes, where the message is in the commit log
    "record_size" / Int32sb,  # 36: bytes of the message's record
    "topic_hash" / Int32sb,  # 40: String.hashCode of its real topic
    "reserved" / Int64sb,  # 44: 0
)
assert TimerLogUnit.sizeof() == 52

TimerLogBlank = Struct(
    "size" / Int32sb,  # 0: bytes from here to the end of the file
    "nothing" / Int64sb,  # 4: 0
    "magic" / Int32sb,  # 12: TimerLog.BLANK_MAGIC_CODE
)
assert TimerLogBlank.sizeof() == 16

WheelSlot = Struct(
    "time" / Int64sb,  # 0: the time of the slot, in units of timerPrecisionMs
    "first_position" / Int64sb,  # 8: of its oldest unit in the timer log
    "last_position" / Int64sb,  # 16: of its newest
    "count" / Int32sb,  # 24: its messages, less its deletions
    "magic" / Int32sb,  # 28: 0
)
assert WheelSlot.sizeof() == 32

TimerCheckpoint = Struct(
    "last_read_time" / Int64sb,  # 0: ms, the first slot that is not delivered
    "timer_log_flushed" / Int64sb,  # 8: position up to which the timer log is on the disk
    "queue_offset" / Int64sb,  # 16: the first message of the timer topic that has no unit
    "master_queue_offset" / Int64sb,  # 24: the same, of the master
    "state_version" / Int64sb,  # 32: of the data version
    "version_timestamp" / Int64sb,  # 40: ms
    "version_counter" / Int64sb,  # 48: how often it changed
)
assert TimerCheckpoint.sizeof() == 56
