"""What records of the revive topic say, made at once: as the classes of these records say it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.v5.pop.answer import PopAnswer
from fakemq.broker.v5.pop.records import (
    ack_json,
    checkpoint_json,
    index_of_ack,
    is_done,
    merge_key,
    merge_key_of_ack,
    properties_text,
)
from fakemq.protocol.bodies.pop import AckMsg, BatchAckMsg, PopCheckPoint
from fakemq.protocol.headers.pop import PopMessageResponseHeader
from fakemq.protocol.properties import MadeProperties
from fakemq.protocol.v5.properties import encode_properties
from tests.support.pops import CHECKPOINT

_texts = st.none() | st.sampled_from(["orders", "%RETRY%g_t", "a b", 'a"b', "ü", "", "x.y"])
_longs = st.integers(-(2**63), 2**63 - 1)
_numbers = st.integers(-128, 127)


@given(
    st.builds(
        PopCheckPoint,
        start_offset=_longs,
        pop_time=_longs,
        invisible_time=_longs,
        num=_numbers,
        topic=_texts,
        group=_texts,
        broker_name=_texts,
        queue_offset_diff=st.none() | st.lists(st.integers(0, 2**31 - 1), max_size=4),
        re_put_times=st.none() | st.just("1"),
        suspend=st.booleans(),
    )
)
def test_usual_checkpoint_is_written_as_any_other(ck: PopCheckPoint) -> None:
    assert checkpoint_json(ck) == ck.encode()


@given(
    st.builds(
        AckMsg,
        ack_offset=_longs,
        start_offset=_longs,
        pop_time=_longs,
        queue_id=st.integers(0, 2**31 - 1),
        topic=_texts,
        group=_texts,
        broker_name=_texts,
    )
)
def test_usual_acknowledgement_is_written_as_any_other(ack: AckMsg) -> None:
    assert ack_json(ack) == ack.encode()


@given(tag=st.text(), deliver_at_ms=_longs, key=st.text())
def test_properties_of_a_record_are_written_as_others_that_java_makes(
    tag: str, deliver_at_ms: int, key: str
) -> None:
    made = MadeProperties({"TAGS": tag, "TIMER_DELIVER_MS": str(deliver_at_ms), "UNIQ_KEY": key})
    assert properties_text(tag, str(deliver_at_ms), key) == encode_properties(made)


def test_acknowledgement_has_the_key_of_its_checkpoint() -> None:
    for kind in (AckMsg, BatchAckMsg):
        ack = kind(start_offset=5, group="G", topic="T", queue_id=3, pop_time=1_700_000_000_000)
        assert merge_key_of_ack(ack, "broker-a") == merge_key(CHECKPOINT)
        ack.broker_name = "broker-a"
        assert merge_key_of_ack(ack, "broker-b") == merge_key(CHECKPOINT)


def test_checkpoint_knows_its_messages() -> None:
    assert [index_of_ack(CHECKPOINT, offset) for offset in range(4, 9)] == [-1, 0, -1, 1, -1]
    assert [CHECKPOINT.offset_at(index) for index in range(2)] == [5, 7]


def test_older_checkpoint_has_messages_without_gaps() -> None:
    older = PopCheckPoint(start_offset=5, num=2)
    assert [index_of_ack(older, offset) for offset in range(4, 8)] == [-1, 0, 1, -1]
    assert older.offset_at(1) == 6


@given(num=_numbers, acknowledged=st.integers(0, 2**32 - 1))
def test_checkpoint_is_done_without_unacknowledged_messages(num: int, acknowledged: int) -> None:
    for bits in (acknowledged, (1 << max(0, num)) - 1):
        ck = PopCheckPoint(num=num, bit_map=bits)
        assert is_done(ck) == (not ck.unacknowledged())


@given(
    st.fixed_dictionaries(
        {
            "pop_time": _longs,
            "invisible_time": _longs,
            "revive_qid": st.integers(0, 7),
            "rest_num": _longs,
            "start_offset_info": st.text(),
            "msg_offset_info": st.text(),
            "order_count_info": st.none() | st.text(),
        }
    )
)
def test_answer_to_a_pop_is_written_as_its_header(fields: dict[str, Any]) -> None:
    answer, header = PopAnswer(**fields), PopMessageResponseHeader(**fields)
    assert list(answer.encode().items()) == list(header.encode().items())
    assert {name: getattr(header, name) for name in fields} == fields
    assert {name: getattr(answer, name) for name in fields} == fields
