"""The JSON of POP, against texts that 5.5.0 has written."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.bodies.pop import (
    AckMsg,
    BatchAck,
    BatchAckMsg,
    PopCheckPoint,
)
from fakemq.protocol.errors import BodyError
from fakemq.protocol.java import LONG_MAX
from tests.support.pops import CHECKPOINT


def test_checkpoint_is_as_java_writes_it() -> None:
    assert CHECKPOINT.encode() == (
        b'{"bm":0,"bn":"broker-a","c":"G","d":[0,2],"it":60000,"n":2,"pt":1700000000000,"q":3,'
        b'"reviveTime":1700000060000,"ro":0,"so":5,"sp":false,"t":"T"}'
    )


def test_acknowledgement_is_as_java_writes_it() -> None:
    ack = AckMsg(
        ack_offset=7,
        start_offset=5,
        group="G",
        topic="T",
        queue_id=3,
        pop_time=1_700_000_000_000,
        broker_name="broker-a",
    )
    assert ack.encode() == (
        b'{"ao":7,"bn":"broker-a","c":"G","pt":1700000000000,"q":3,"so":5,"t":"T"}'
    )


def test_batch_of_acknowledgements_is_as_java_writes_it() -> None:
    ack = BatchAckMsg(
        ack_offset=-1,
        start_offset=5,
        group="G",
        topic="T",
        queue_id=3,
        pop_time=1_700_000_000_000,
        ack_offset_list=[5, 7],
    )
    assert ack.encode() == (
        b'{"ao":-1,"aol":[5,7],"c":"G","pt":1700000000000,"q":3,"so":5,"t":"T"}'
    )


def test_revive_time_of_a_record_does_not_count() -> None:
    text = CHECKPOINT.encode().replace(b'"reviveTime":1700000060000', b'"reviveTime":1')
    assert PopCheckPoint.decode(text).revive_time == 1_700_000_060_000


def test_number_of_messages_is_a_byte() -> None:
    with pytest.raises(BodyError):
        PopCheckPoint.decode(b'{"n":2000000000,"t":"T","c":"G"}')


@given(
    start=st.integers(-50, 100),
    offsets=st.sets(st.integers(0, 60)),
    least=st.integers(0, 100),
    most=st.integers(0, 200),
)
def test_bits_are_offsets(start: int, offsets: set[int], least: int, most: int) -> None:
    bits = sum(1 << offset for offset in offsets)
    text = base64.b64encode(bits.to_bytes(8, "little")).decode()
    batch = BatchAck(start_offset=start, bit_set=text)
    assert batch.offsets(least, most) == sorted(
        start + offset for offset in offsets if least <= start + offset <= most
    )


def test_bits_far_from_the_messages_take_no_memory() -> None:
    full = base64.b64encode(b"\xff" * 1_000).decode()
    assert BatchAck(start_offset=-LONG_MAX, bit_set=full).offsets(0, 3) == []
    assert BatchAck(start_offset=5, bit_set="/w==").offsets(0, LONG_MAX) == [*range(5, 13)]


@pytest.mark.parametrize("text", [None, "", "?", "A"])
def test_bits_that_are_none_are_an_error(text: str | None) -> None:
    with pytest.raises(BodyError):
        BatchAck(bit_set=text).offsets(0, 10)
