"""Long lists of messages become batches that fit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fakemq.client.messages import Message, batch_body
from fakemq.client.producing.send_commands import split, stored_bytes
from fakemq.protocol.message import encode_record
from fakemq.protocol.properties import encode_properties_as_java

MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["t", "orders", "名"]),
        st.binary(min_size=1, max_size=400),
        keys=st.text("abcж", max_size=20),
    ),
    max_size=40,
)


@given(MESSAGES, st.integers(1, 4_000))
def test_batches_hold_all_messages_in_order_and_fit(
    messages: Sequence[Message], limit_bytes: int
) -> None:
    batches = list(split(messages, limit_bytes))
    assert [one for batch in batches for one in batch] == list(messages)
    for batch in batches:
        assert len(batch) == 1 or sum(map(stored_bytes, batch)) <= limit_bytes
    for batch, following in pairwise(batches):
        assert sum(map(stored_bytes, (*batch, following[0]))) > limit_bytes, "one more would fit"


@given(MESSAGES.filter(bool))
def test_stored_bytes_are_no_less_than_records_and_batches_take(
    messages: Sequence[Message],
) -> None:
    for message in messages:
        record = encode_record(
            message.topic,
            message.body,
            f"{encode_properties_as_java(message.properties)}\x02WAIT\x01true",
            queue_id=0,
            born_host=("fd00::1", 1),
            store_host=("fd00::2", 2),
            queue_offset=0,
            physical_offset=0,
        )
        assert len(record) <= stored_bytes(message)
    assert len(batch_body(messages)) <= sum(map(stored_bytes, messages))


def test_message_with_an_id_takes_no_room_for_another() -> None:
    message = Message("t", "x")
    before = stored_bytes(message)
    message.properties["UNIQ_KEY"] = "0" * 56
    assert stored_bytes(message) == before
