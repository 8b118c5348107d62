"""Records of the revive topic: they are read as they were written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.bodies.pop import AckMsg, BatchAckMsg, PopCheckPoint
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.pops import GROUP, TOPIC, Popped, ack, pop, send

NAMES = st.text(st.characters(codec="utf-8"), max_size=20)
OFFSETS = st.integers(0, 2**62)
TIMES = st.integers(0, 2**41)


@given(
    topic=NAMES,
    group=NAMES,
    broker_name=NAMES,
    start_offset=OFFSETS,
    pop_time=TIMES,
    diffs=st.lists(st.integers(0, 2**31 - 1), max_size=32),
    queue_id=st.integers(0, 2**31 - 1),
)
def test_record_is_read_as_it_was_written(
    topic: str,
    group: str,
    broker_name: str,
    start_offset: int,
    pop_time: int,
    diffs: list[int],
    queue_id: int,
) -> None:
    ck = PopCheckPoint(
        num=len(diffs),
        pop_time=pop_time,
        invisible_time=60_000,
        start_offset=start_offset,
        group=group,
        topic=topic,
        queue_id=queue_id,
        broker_name=broker_name,
        queue_offset_diff=diffs,
    )
    assert PopCheckPoint.decode(ck.encode()) == ck
    ack_msg = AckMsg(
        ack_offset=start_offset,
        start_offset=start_offset,
        group=group,
        topic=topic,
        queue_id=queue_id,
        pop_time=pop_time,
        broker_name=broker_name,
    )
    assert AckMsg.decode(ack_msg.encode()) == ack_msg
    batch = BatchAckMsg(
        ack_offset=-1, group=group, topic=topic, broker_name=broker_name, ack_offset_list=diffs
    )
    assert BatchAckMsg.decode(batch.encode()) == batch


def test_restart_finds_what_was_out(lab: BrokerLab) -> None:
    broker = lab.broker(reference=REFERENCE)
    peer = lab.peer(broker.addr)
    broker.create_topic(TOPIC, 1)
    for body in (b"a", b"b", b"c"):
        send(peer, body)
    popped = Popped(pop(peer))
    ack(peer, popped, popped.messages[1])
    before = list(broker5(broker).pop.revive.waiting())
    assert [one.unacknowledged() for one in before] == [[0, 2]]
    broker.stop()
    broker.start()
    after = list(broker5(broker).pop.revive.waiting())
    assert after == before
    assert {one.group for one in after} == {GROUP}
