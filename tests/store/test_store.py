"""Puts: what is refused, which listeners are called, and in which order."""

from __future__ import annotations

import struct
import time
import tracemalloc

import pytest

from fakemq.clock.slices import finished
from fakemq.events import AppendRefused, Dispatched, LogAppended, Warned
from fakemq.journal.journal import shortened
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.message import decode_records
from fakemq.store.inner_message import inner_message
from fakemq.store.results import GetMessageStatus, PutMessageStatus
from fakemq.store.writing import draft_batch
from tests.support.store_lab import StoreLab
from tests.support.time import START_MS

ILLEGAL = PutMessageStatus.MESSAGE_ILLEGAL
BIG_LOG = 1 << 24


def batch(*members: tuple[int, bytes, bytes]) -> bytes:
    """The body of a batch, as a client sends it."""
    return b"".join(
        struct.pack(">iiiii", 22 + len(body) + len(properties), 0, 0, flag, len(body))
        + body
        + struct.pack(">h", len(properties))
        + properties
        for flag, body, properties in members
    )


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body_bytes", "topic_chars", "properties_chars", "status"),
    [
        (1000, 127, 32767, PutMessageStatus.PUT_OK),
        (1001, 1, 0, ILLEGAL),
        (1, 128, 0, ILLEGAL),
        (1, 1, 32768, ILLEGAL),
    ],
)
def test_sizes_are_limited(
    body_bytes: int, topic_chars: int, properties_chars: int, status: PutMessageStatus
) -> None:
    lab = StoreLab(log_bytes=BIG_LOG, max_message_size=1000)
    result = lab.put(
        bytes(body_bytes), "t" * topic_chars, 0, "P\x01" + "p" * (properties_chars - 2)
    )
    assert result.status is status
    refused = lab.journal.find(AppendRefused)
    assert [event.status for event in refused] == ([] if result.ok else [status.name])
    assert (result.append_result is not None) == result.ok == bool(lab.store.max_phy_offset)


def test_overlong_properties_are_refused_by_bytes_only() -> None:
    lab = StoreLab(log_bytes=BIG_LOG)
    result = lab.put(properties="P\x01" + "ä" * 20_000)
    assert result.status is PutMessageStatus.PROPERTIES_SIZE_EXCEEDED


def test_new_size_limit_counts_from_the_next_message() -> None:
    lab = StoreLab(log_bytes=BIG_LOG, max_message_size=10)
    assert lab.put(bytes(11)).status is ILLEGAL
    lab.config.max_message_size = 11
    assert lab.put(bytes(11)).ok


def test_slave_takes_no_messages() -> None:
    lab = StoreLab(broker_role="SLAVE")
    assert lab.put().status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert lab.put().reason == ""


def test_puts_over_the_memory_limit_are_refused_with_the_reason() -> None:
    lab = StoreLab(limit_bytes=1000)
    while (result := lab.put(bytes(100))).ok:
        pass
    assert lab.store.bytes_used == 4 * (197 + 20)
    assert result.status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert result.reason == "the memory limit of fakemq, --memory-limit 1000, is reached"
    lab.put(bytes(100))
    assert len(lab.journal.find(AppendRefused)) == 2
    (warned,) = lab.journal.find(Warned)
    assert warned.text == (
        "the memory limit of fakemq, --memory-limit 1000, is reached: messages are refused with"
        " SERVICE_NOT_AVAILABLE until something is deleted or the cluster is reset"
    )
    assert lab.put(b"").ok
    assert lab.store.used_ratio() == (4 * 217 + 117) / 1000
    lab.store.reset()
    assert lab.store.bytes_used == 0
    assert lab.put(bytes(100)).ok


# -- batches ----------------------------------------------------------------------------------


def test_members_of_a_batch_are_neighbours() -> None:
    lab = StoreLab()
    lab.put()
    body = batch(
        (1, b"one", b"UNIQ_KEY\x01U1\x02TAGS\x01a"), (2, b"two", b"TAGS\x01b\x02"), (3, b"", b"")
    )
    message = inner_message(
        "orders",
        0,
        body,
        properties={"CLUSTER": "c"},
        properties_string="CLUSTER\x01c",
        born_timestamp_ms=START_MS,
        store_host=("127.0.0.1", 10911),
        prepared_transaction_offset=9,
    )
    appended = lab.store.put_messages(message).append_result
    assert appended is not None
    assert (appended.msg_num, appended.logics_offset) == (3, 1)
    got = lab.store.get_message("g", "orders", 0, 1, 32)
    assert (got.message_count, len(got.buffers)) == (3, 1)
    assert got.buffer_total_size == appended.wrote_bytes
    ids, at = [], appended.wrote_offset
    for number, (flag, text, properties) in enumerate(
        (
            (1, b"one", b"UNIQ_KEY\x01U1\x02TAGS\x01a\x02CLUSTER\x01c"),
            (2, b"two", b"TAGS\x01b\x02CLUSTER\x01c"),
            (3, b"", b"CLUSTER\x01c"),
        )
    ):
        record = lab.store.select_one_message_by_offset(at)
        assert record is not None
        assert struct.unpack_from(">iqq", record, 16) == (flag, 1 + number, at)
        assert struct.unpack_from(">q", record, 76) == (0,)
        assert bytes(record[84:]) == (
            struct.pack(">i", len(text))
            + text
            + b"\6orders"
            + struct.pack(">h", len(properties))
            + properties
        )
        ids.append(f"7F00000100002A9F{at:016X}")
        at += len(record)
    assert appended.msg_id == ",".join(ids)
    events = lab.journal.find(LogAppended)
    assert [(event.queue_offset, event.msg_id) for event in events] == [
        (0, ""), (1, "U1"), (2, ""), (3, ""),
    ]  # fmt: skip
    assert len(finished(lab.store.query_message("orders", "U1", 9, 0, 1 << 62)).buffers) == 1


def test_batch_never_spans_two_files() -> None:
    lab = StoreLab(log_bytes=580)
    lab.put()
    body = batch(*[(0, bytes(60), b"")] * 3)
    result = lab.store.put_messages(inner_message("orders", 0, body)).append_result
    assert result is not None
    assert result.wrote_offset == 580
    too_large = batch(*[(0, bytes(60), b"")] * 4)
    assert lab.store.put_messages(inner_message("orders", 0, too_large)).status is ILLEGAL


def test_batch_stored_in_slices_keeps_the_host_of_a_peer_with_ipv6() -> None:
    lab = StoreLab()
    body = batch(*[(0, b"a", b"")] * 2)
    first, again = [inner_message("t", 0, body, born_host=("::1", 9)) for _ in range(2)]
    lab.store.put_messages(again, finished(draft_batch(first, 1000, 1 << 20)))
    lab.store.finish_work()
    found = decode_records(lab.store.get_message("g", "t", 0, 0, 2).body)
    assert [message.born_host for message in found] == [("::1", 9)] * 2


@pytest.mark.parametrize(
    ("common_bytes", "status"),
    [(40_000, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED), (30_000, ILLEGAL)],
)
def test_batch_with_large_common_properties_is_refused_before_it_is_made(
    common_bytes: int, status: PutMessageStatus
) -> None:
    message = inner_message("t", 0, batch(*[(0, b"", b"")] * 20_000))
    message.properties_string = "K\x01" + "v" * common_bytes
    tracemalloc.start()
    try:
        assert finished(draft_batch(message, 1 << 20, 1 << 20)) is status
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_empty_batch_is_stored_as_nothing() -> None:
    lab = StoreLab()
    appended = lab.store.put_messages(inner_message("t", 0, b"")).append_result
    assert appended is not None
    assert (appended.msg_num, appended.wrote_bytes, appended.msg_id) == (0, 0, "")
    assert lab.store.max_offset_in_queue("t", 0) == 0


@pytest.mark.parametrize(
    ("body", "sys_flag", "properties", "status"),
    [
        (batch((0, b"a", b"")), 4, {}, ILLEGAL),
        (batch((0, b"a", b"")), 0, {"DELAY": "1"}, ILLEGAL),
        (batch((0, bytes(1001), b"")), 0, {}, ILLEGAL),
        (batch((0, b"a", b""))[:-3], 0, {}, PutMessageStatus.UNKNOWN_ERROR),
        (b"no batch", 0, {}, PutMessageStatus.UNKNOWN_ERROR),
        (struct.pack(">iiiii", 0, 0, 0, 0, -5) + bytes(20), 0, {}, PutMessageStatus.UNKNOWN_ERROR),
    ],
)
def test_invalid_batches_are_refused(
    body: bytes, sys_flag: int, properties: dict[str, str], status: PutMessageStatus
) -> None:
    lab = StoreLab(max_message_size=1000)
    message = inner_message("t", 0, body, sys_flag=sys_flag, properties=properties)
    assert lab.store.put_messages(message).status is status
    assert lab.store.max_phy_offset == 0


# -- what is dispatched ------------------------------------------------------------------------


def test_put_returns_the_records_that_reached_their_queue() -> None:
    lab = StoreLab()
    (record,) = lab.put(queue_id=2, properties="TAGS\x01TagA\x02UNIQ_KEY\x01U").records
    assert [type(entry.event) for entry in lab.journal] == [LogAppended, Dispatched]
    assert lab.store.get_message("g", "orders", 2, 0, 1).status is GetMessageStatus.FOUND
    assert (record.topic, record.queue_id, record.queue_offset) == ("orders", 2, 0)
    assert (record.phy_offset, record.tags_code) == (0, 2598919)
    assert record.store_timestamp_ms == START_MS
    assert record.properties == b"TAGS\x01TagA\x02UNIQ_KEY\x01U"
    (appended,) = lab.journal.find(LogAppended, node="broker-a-0", msg_id="U")
    (dispatched,) = lab.journal.find(Dispatched)
    assert (appended.size_bytes, appended.queue_offset) == (91 + 5 + 6 + 20, 0)
    assert (dispatched.topic, dispatched.queue_id, dispatched.phy_offset) == ("orders", 2, 0)


@pytest.mark.parametrize("late", [False, True], ids=["at once", "beside the queue"])
def test_keys_are_in_the_journal(late: bool) -> None:
    lab = StoreLab(message_index_enable=not late)
    long = "k" * 600
    lab.put(properties="KEYS\x01a b\x02UNIQ_KEY\x01U")
    lab.put(properties="UNIQ_KEY\x01V")
    lab.put(properties=f"KEYS\x01{long}\x02UNIQ_KEY\x01W")
    members = [(0, b"x", b"KEYS\x01c\x02"), (0, b"x", f"KEYS\x01{long}".encode())]
    lab.store.put_messages(inner_message("orders", 0, batch(*members)))
    found = [(one.msg_id, one.keys) for one in lab.journal.find(LogAppended)]
    cut = shortened(long)
    assert found == [("U", "a b"), ("V", ""), ("W", cut), ("", "c"), ("", cut)]


# -- deleting ---------------------------------------------------------------------------------


def test_deleted_topic_begins_at_0_and_its_records_stay() -> None:
    lab = StoreLab()
    for topic in ("a", "a", "b"):
        lab.put(topic=topic)
    end = lab.store.max_phy_offset
    lab.store.delete_consume_queue("a")
    assert lab.store.max_offset_in_queue("a", 0) == 0
    assert lab.files.list("consumequeue/a") == []
    assert lab.store.select_one_message_by_offset(0) is not None
    appended = lab.put(topic="a").append_result
    assert appended is not None
    assert (appended.logics_offset, appended.wrote_offset) == (0, end)
    assert lab.store.max_offset_in_queue("b", 0) == 1


def test_unused_topics_are_cleaned_except_for_two() -> None:
    lab = StoreLab()
    topics = ("a", "b", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_OP_HALF_TOPIC")
    for topic in topics:
        lab.put(topic=topic)
    lab.store.clean_unused_topic({"b", "c"})
    assert [lab.store.max_offset_in_queue(topic, 0) for topic in topics] == [0, 1, 1, 1]


def test_reset_store_is_empty_and_takes_under_a_millisecond() -> None:
    lab = StoreLab(log_bytes=1 << 30)
    best_ms = 1e9
    for _ in range(3):
        for number in range(100):
            lab.put(bytes(1000), queue_id=number % 8, properties="KEYS\x01k")
        began = time.perf_counter()
        lab.store.reset()
        best_ms = min(best_ms, (time.perf_counter() - began) * 1000)
    assert best_ms < 1
    store = lab.store
    assert (store.max_phy_offset, store.min_phy_offset, store.bytes_used) == (0, -1, 0)
    assert finished(store.query_message("orders", "k", 9, 0, 1 << 62)).buffers == []
    appended = lab.put().append_result
    assert appended is not None
    assert (appended.wrote_offset, appended.logics_offset) == (0, 0)


# -- messages, decoded ------------------------------------------------------------------------


def test_messages_are_looked_up_by_offset_and_walked_by_queue() -> None:
    lab = StoreLab(log_bytes=300)
    for body in (b"1", b"2", b"3", b"4"):
        lab.put(body, properties="KEYS\x01k")
    lab.put(b"other", queue_id=1)
    bodies = [message.body for message in lab.store.messages_in_queue("orders", 0)]
    assert bodies == [b"1", b"2", b"3", b"4"]
    message = lab.store.look_message_by_offset(0)
    assert message is not None
    assert (message.body, message.queue_offset, message.keys) == (b"1", 0, "k")
    assert message.store_timestamp_ms == START_MS
    assert lab.store.look_message_by_offset(1) is None
    assert lab.store.look_message_by_offset(lab.store.max_phy_offset) is None
    lab.store.log.delete_before(300)
    bodies = [message.body for message in lab.store.messages_in_queue("orders", 0)]
    assert bodies == [b"3", b"4"]
    assert list(lab.store.messages_in_queue("orders", 9)) == []


def test_ipv6_bits_of_a_client_do_not_make_a_record_unreadable() -> None:
    lab = StoreLab()
    assert lab.put(b"hello", sys_flag=0x30).ok
    message = lab.store.look_message_by_offset(0)
    assert message is not None
    assert (message.body, message.sys_flag) == (b"hello", 0)


def test_message_costs_its_record_and_twenty_bytes() -> None:
    lab = StoreLab(log_bytes=BIG_LOG)
    for _ in range(100):
        lab.put(bytes(100), properties="UNIQ_KEY\x01u\x02KEYS\x01a b")
    assert lab.store.bytes_used == lab.store.max_phy_offset + 100 * 20
    finished(lab.store.query_message("orders", "a", 1, 0, 1))  # three index entries for each
    assert lab.store.bytes_used == lab.store.max_phy_offset + 100 * (20 + 3 * 20)


@pytest.mark.parametrize("batch", [False, True])
def test_topic_length_is_counted_in_bytes(batch: bool) -> None:
    lab = StoreLab()
    for topic, status in (
        ("é" * 63, PutMessageStatus.PUT_OK),
        ("é" * 64, PutMessageStatus.MESSAGE_ILLEGAL),
    ):
        if batch:
            message = inner_message(topic, 0, encode_batch([BatchMember(b"x", b"", 0)]))
            assert lab.store.put_messages(message).status is status
        else:
            assert lab.put(topic=topic).status is status
