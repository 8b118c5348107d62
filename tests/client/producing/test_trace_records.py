"""The text of traces, read again as Java's tools read it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.client.messages import LocalTransactionState
from fakemq.client.producing.trace_records import (
    ConsumedMessage,
    ConsumeReturnType,
    Consuming,
    EndedTransaction,
    Published,
    TracedType,
    joined_keys,
)

# Neither of the two separators, which no name of a message may have.
TEXT = st.text(st.characters(blacklist_characters="\x01\x02", blacklist_categories=["Cs"]))
MAYBE = TEXT | st.none()
TIME = st.integers(0, 2**62)

PUBLISHED = Published(
    timestamp_ms=1_700_000_000_000,
    region_id="DefaultRegion",
    group="billing",
    topic="orders",
    msg_id="0A000001000712345678000000010000",
    tags="eu",
    keys="k1 k2",
    store_host="10.0.0.2:10911",
    body_bytes=4,
    cost_ms=12,
    type=TracedType.DELAY,
    offset_msg_id="0A00000200002A9F0000000000000000",
    success=True,
)


def fields(text: str) -> list[list[str]]:
    """The records of a trace, as TraceDataEncoder#decoderFromTraceDataString splits them."""
    assert text.endswith("\x02")
    return [line.split("\x01") for line in text.split("\x02")[:-1]]


def test_published_message_is_one_line_of_fourteen_fields() -> None:
    record = PUBLISHED.record()
    assert record.text == (
        "Pub\x011700000000000\x01DefaultRegion\x01billing\x01orders\x01"
        "0A000001000712345678000000010000\x01eu\x01k1 k2\x0110.0.0.2:10911\x014\x0112\x013\x01"
        "0A00000200002A9F0000000000000000\x01true\x02"
    )
    assert record.keys == ("0A000001000712345678000000010000", "k1", "k2")


def test_missing_property_is_the_word_null() -> None:
    record = PUBLISHED._replace(tags=None, keys=None, success=False).record()
    (line,) = fields(record.text)
    assert (line[6], line[7], line[13]) == ("null", "null", "false")
    assert record.keys == (PUBLISHED.msg_id,)


@given(st.builds(Published, TIME, TEXT, TEXT, TEXT, TEXT, MAYBE, MAYBE, TEXT, offset_msg_id=TEXT))
def test_published_message_is_read_as_it_was(published: Published) -> None:
    (line,) = fields(published.record().text)
    assert len(line) == 14
    assert (line[0], int(line[1]), line[2], line[3], line[4], line[5], line[8]) == (
        "Pub",
        published.timestamp_ms,
        published.region_id,
        published.group,
        published.topic,
        published.msg_id,
        published.store_host,
    )
    assert TracedType(int(line[11])) is published.type


@given(
    st.lists(st.builds(ConsumedMessage, TEXT, MAYBE, st.integers(0, 16)), min_size=1, max_size=5),
    TIME,
    st.integers(0, 10_000),
    MAYBE,
    st.booleans(),
    st.sampled_from(ConsumeReturnType) | st.none(),
)
def test_consumed_messages_have_a_line_each_before_and_after(
    messages: list[ConsumedMessage],
    begin_ms: int,
    took_ms: int,
    region: str | None,
    success: bool,
    return_type: ConsumeReturnType | None,
) -> None:
    consuming = Consuming(
        timestamp_ms=begin_ms,
        region_id=region,
        group="g",
        request_id="ID",
        messages=tuple(messages),
        call_size=len(messages),
    )
    before = fields(consuming.record().text)
    now_ms = begin_ms + took_ms
    after = fields(consuming.ended(now_ms, success=success, return_type=return_type).text)
    for message, line, ended in zip(messages, before, after, strict=True):
        keys = "null" if message.keys is None else message.keys
        assert line == [
            *("SubBefore", str(begin_ms), "null" if region is None else region, "g", "ID"),
            *(message.msg_id, str(message.reconsume_times), keys),
        ]
        assert ended == [
            *("SubAfter", "ID", message.msg_id, str(took_ms // len(messages))),
            *("true" if success else "false", keys, str(int(return_type or 0)), str(now_ms), "g"),
        ]


def test_cost_is_divided_by_all_messages_of_the_call() -> None:
    consuming = Consuming(0, "r", "g", "ID", (ConsumedMessage("m", None, 0),), 3)
    (line,) = fields(consuming.ended(100, success=True, return_type=None).text)
    assert line[3] == "33"


def test_ended_transaction_is_one_line_of_thirteen_fields() -> None:
    ended = EndedTransaction(
        timestamp_ms=5,
        region_id="r",
        group="g",
        topic="orders",
        msg_id="M",
        tags=None,
        keys="k",
        store_host="a:1",
        transaction_id="T",
        state=LocalTransactionState.UNKNOW,
        from_check=True,
    )
    assert ended.record().text == (
        "EndTransaction\x015\x01r\x01g\x01orders\x01M\x01null\x01k\x01a:1\x012\x01T\x01UNKNOW\x01true"
        "\x02"
    )
    assert ended.record().keys == ("M", "k")


def test_keys_are_split_as_java_splits_them() -> None:
    assert PUBLISHED._replace(keys=" a  b  ").record().keys == (PUBLISHED.msg_id, "", "a", "", "b")
    assert PUBLISHED._replace(keys="").record().keys == (PUBLISHED.msg_id,)
    assert joined_keys(["", "a", "b"]) == "a b"
