"""Received messages."""

from __future__ import annotations

from fakemq.client.consuming.received import ReceivedMessage
from fakemq.protocol import properties as names
from fakemq.protocol.message import MessageExt, decode_record, encode_record
from fakemq.protocol.properties import encode_properties_as_java


def stored(**properties: str) -> MessageExt:
    return decode_record(
        encode_record(
            "orders",
            b"body",
            encode_properties_as_java(properties),
            queue_id=3,
            born_host=("10.0.0.1", 1),
            store_host=("10.0.0.2", 10911),
            flag=7,
            queue_offset=5,
            physical_offset=100,
            born_timestamp_ms=1,
            store_timestamp_ms=2,
            reconsume_times=4,
        )
    )


def test_received_message_shows_what_was_stored() -> None:
    message = ReceivedMessage(
        stored(TAGS="a", KEYS="k1 k2", UNIQ_KEY="0A01", color="red"), "broker-a", max_offset=9
    )
    assert (message.topic, message.broker_name, message.queue_id) == ("orders", "broker-a", 3)
    assert (message.body, message.tags, message.keys) == (b"body", "a", "k1 k2")
    assert (message.queue_offset, message.reconsume_times, message.flag) == (5, 4, 7)
    assert (message.born_timestamp_ms, message.store_timestamp_ms) == (1, 2)
    assert message.message_id == "0A01"
    assert message.offset_message_id == "0A00000200002A9F0000000000000064"
    assert message.properties["color"] == "red"


def test_received_message_without_a_unique_id_has_its_offset_id() -> None:
    message = ReceivedMessage(stored(), "broker-a")
    assert message.message_id == message.offset_message_id
    assert (message.tags, message.keys) == ("", "")


def test_received_message_has_the_offsets_of_its_queue_as_properties() -> None:
    message = ReceivedMessage(stored(), "broker-a", min_offset=2, max_offset=9)
    assert message.properties[names.MIN_OFFSET] == "2"
    assert message.properties[names.MAX_OFFSET] == "9"
    assert names.MAX_OFFSET not in message.stored.properties


def test_received_message_remembers_the_level_of_its_retry() -> None:
    message = ReceivedMessage(stored(), "broker-a")
    levels = [message.retry_level]
    message.retry_later(3)
    levels.append(message.retry_level)
    message.retry_later()
    assert [*levels, message.retry_level] == [None, 3, 0]
