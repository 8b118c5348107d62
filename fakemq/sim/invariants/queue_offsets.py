"""The queue offsets of a log are dense, for each queue, whichever masters have written it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.protocol.message import decode_record
from fakemq.protocol.sysflag import UNQUEUED, MessageSysFlag
from fakemq.sim.history import Violation

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt
    from fakemq.store.commitlog import CommitLog

NAME = "queue offsets are dense"


def records_of(log: CommitLog) -> Iterator[MessageExt]:
    """Yield the records of a log that are in queues, from its beginning."""
    for _, record in log.records(max(0, log.min_offset), log.max_offset):
        message = decode_record(record)
        if message.sys_flag & MessageSysFlag.TRANSACTION_ROLLBACK_TYPE not in UNQUEUED:
            yield message


def gaps(node: str, log: CommitLog) -> Iterator[Violation]:
    """Yield the records whose queue offset does not follow that of the record before."""
    following: dict[tuple[str, int], int] = {}
    for message in records_of(log):
        queue = message.topic, message.queue_id
        expected = following.get(queue, message.queue_offset)
        if message.queue_offset != expected:
            topic, queue_id = queue
            text = (
                f"{message.keys or topic} ({message.msg_id}), offset {message.commit_log_offset}"
                f" of the log of {node}, has offset {message.queue_offset} of {topic} queue"
                f" {queue_id}: expected {expected}"
            )
            yield Violation(NAME, text, (message.msg_id or node, node))
        following[queue] = message.queue_offset + 1
