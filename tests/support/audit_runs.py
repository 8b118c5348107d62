"""Runs of a cluster to audit: one in which all is well, and one with faults whose harm is known."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import fakemq
from fakemq.client import Client, LocalTransactionState, Message, SendResult
from fakemq.client.errors import RemotingError
from tests.support.consumer import GROUP, TIMEOUT_MS, Consumer, consuming

START = "2024-02-29T03:00:00Z"
TOPIC = "orders"
SMALL_FILES = {
    "mappedFileSizeCommitLog": "4096",
    "mappedFileSizeConsumeQueue": "400",
    "maxHashSlotNum": "50",
    "maxIndexNum": "40",
    "fileReservedTime": "1",
}


class Run(NamedTuple):
    """Where a run left its store and its journal, and what is true of it, by message id."""

    store: Path
    journal: Path
    sent: set[str]
    lost: set[str]
    duplicated: set[str]
    torn: set[str]
    """What the slave has not, for good."""


def drained(client: Consumer, topic: str, begin: int = 0) -> int:
    """Take all that is there of a topic's only queue; return where it ends."""
    while messages := client.take(topic, begin):
        begin = messages[-1].queue_offset + 1
    return begin


def log_offset(sent: SendResult) -> int:
    """Where in the log a message was stored, by the id that says it."""
    return int(sent.offset_msg_id[-16:], 16)


def _send_until_answered(client: Client, message: Message) -> SendResult:
    # A client, Java's too, sends once more by itself if just its whole time-out has passed, and no
    # millisecond more; but not if the queue is given.
    (queue,) = client.subscribe_queues(message.topic)
    try:
        return client.send(message, queue=queue, timeout_ms=TIMEOUT_MS)
    except RemotingError:
        return client.send(message)


def clean_run(folder: Path) -> Run:
    """Delayed, batched, transactional, retried, dead and expired messages, all as they should."""
    store, journal = folder / "store", folder / "journal.jsonl"
    sent = []
    with fakemq.Cluster(
        store=store, journal=journal, clock="frozen", start_at=START, slaves=1,
        topics={TOPIC: 1}, config=SMALL_FILES,
    ) as mq, consuming(mq) as client:  # fmt: skip
        sent += [client.send(Message(TOPIC, b"x" * 200, keys=f"old-{n}")) for n in range(40)]
        mq.clock.advance("1s")
        next_offset = drained(client, TOPIC)
        mq.clock.advance("2h")
        sent += [client.send(Message(TOPIC, b"new", keys=f"new-{n}")) for n in range(5)]
        batch = client.send_batch([Message(TOPIC, b"b", keys=f"batch-{n}") for n in range(3)])
        sent.append(client.send(Message(TOPIC, b"soon", keys="soon", properties={"DELAY": "2"})))
        sent.append(client.send(Message(TOPIC, b"far", keys="far", properties={"DELAY": "18"})))
        for state in LocalTransactionState:
            message = Message(TOPIC, b"half", keys=state.name)
            half = client.send_half(message)
            client.end_transaction(half, state)
            sent.append(half)
        mq.clock.advance("6s")
        first = client.take(TOPIC, next_offset)
        next_offset = first[-1].queue_offset + 1
        addr = mq.broker("broker-a").addr
        client.send_back(addr, first[0])
        client.send_back(addr, first[1], max_retries=0)
        mq.clock.advance("11s")
        (retry,) = client.take(f"%RETRY%{GROUP}")
        client.send_back(addr, retry)
        mq.clock.advance("31s")
        client.take(f"%RETRY%{GROUP}", 1)
        drained(client, TOPIC, next_offset)
        sent.append(client.send(Message(TOPIC, b"last", keys="last")))
        mq.clock.advance("11s")
    ids = {one.msg_id for one in sent} | set(batch.msg_id.split(","))
    return Run(store, journal, ids, set(), set(), set())


def faulty_run(folder: Path) -> Run:
    """A slave that is torn for good, a master killed with bytes that were not flushed, and two
    messages doubled: one delivered again as the commit of its offset was lost, and one that its
    producer sent again as it got no answer to the first.
    """
    store, journal = folder / "store", folder / "journal.jsonl"
    with fakemq.Cluster(
        store=store, journal=journal, clock="frozen", start_at=START, slaves=1, seed=1,
        topics={TOPIC: 1},
    ) as mq, consuming(mq) as client:  # fmt: skip
        sent = [client.send(Message(TOPIC, b"x" * 1000, keys=f"safe-{n}")) for n in range(10)]
        mq.faults.drop("SEND_MESSAGE_V2", at="before_reply")
        sent.append(_send_until_answered(client, Message(TOPIC, b"again", keys="sent-twice")))
        mq.clock.advance("1s")
        next_offset = drained(client, TOPIC)
        sent.append(client.send(Message(TOPIC, b"once more", keys="commit-lost")))
        mq.clock.advance("1s")
        mq.faults.drop("UPDATE_CONSUMER_OFFSET", group=GROUP)
        (queue,) = client.subscribe_queues(TOPIC)
        result = client.pull(queue, next_offset)
        client.update_offset(queue, result.next_begin_offset)  # which no answer confirms
        mq.wait_for(lambda: not mq.faults.pending())
        # As if it began anew: from the offset that its group has committed.
        begin = client.query_offset(queue)
        assert begin == next_offset
        next_offset = drained(client, TOPIC, begin)
        torn_at = log_offset(sent[7])
        mq.faults.hold_slave("broker-a-1", at_offset=torn_at)
        mq.faults.truncate_slave("broker-a-1", to_offset=torn_at, at_once=True)
        sent += [client.send(Message(TOPIC, b"x" * 1000, keys=f"kept-{n}")) for n in range(5)]
        mq.clock.advance("11s")  # which flushes them, however little it is
        doubtful = [client.send(Message(TOPIC, b"x" * 3000, keys=f"risk-{n}")) for n in range(30)]
        mq.broker("broker-a-1").kill()
        mq.broker("broker-a").kill(lose_unsynced=True)
        mq.broker("broker-a").restart()
        client.heartbeat()
        sent += [client.send(Message(TOPIC, b"later", keys=f"later-{n}")) for n in range(3)]
        mq.clock.advance("30s")
        drained(client, TOPIC, next_offset)
        mq.clock.advance("30s")
        there = {one.msg_id for one in mq.messages(TOPIC)}
    every = [*sent, *doubtful]
    return Run(
        store,
        journal,
        {one.msg_id for one in every},
        {one.msg_id for one in every} - there,
        {sent[10].msg_id, sent[11].msg_id},
        {one.msg_id for one in every if log_offset(one) >= torn_at},
    )
