"""QUERY_CORRECTION_OFFSET: the lowest offset of several groups in each queue."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.offset import QueryCorrectionOffsetBody
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.offset import QueryCorrectionOffsetHeader
from tests.support.clients import TOPIC
from tests.support.peer import Peer


def correct(
    peer: Peer, *, topic: str = TOPIC, filter_groups: str | None = None, compare: str = "none"
) -> dict[int, int]:
    header = QueryCorrectionOffsetHeader(
        topic=topic, compare_group=compare, filter_groups=filter_groups
    )
    response = peer.ask(RequestCode.QUERY_CORRECTION_OFFSET, header)
    return QueryCorrectionOffsetBody.decode(response.body).correction_offsets


def test_lowest_offset_of_all_groups_is_returned(broker: Broker, peer: Peer) -> None:
    for group, offsets in (("a", {0: 5, 1: 2}), ("b", {0: 3, 2: 7})):
        for queue_id, offset in offsets.items():
            broker.offsets.commit(group, TOPIC, queue_id, offset)
    broker.offsets.commit("a", "others", 0, 1)
    assert correct(peer) == {0: 3, 1: 2, 2: 7}
    assert correct(peer, topic="nowhere") == {}


def test_offsets_of_deleted_records_are_ignored(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("a", TOPIC, 0, -1)
    broker.offsets.commit("b", TOPIC, 0, 3)
    assert correct(peer) == {0: 3}


def test_offsets_of_filtered_groups_are_removed(broker: Broker, peer: Peer) -> None:
    for group, topic, offset in (("a", TOPIC, 1), ("a", "others", 1), ("b", TOPIC, 2)):
        broker.offsets.commit(group, topic, 0, offset)
    assert correct(peer, filter_groups="x,a") == {0: 2}
    assert broker.offsets.snapshot() == {f"{TOPIC}@b": {0: 2}}
    assert correct(peer, filter_groups=" ") == {0: 2}


def test_java_compares_only_when_topic_and_group_have_one_name(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("low", TOPIC, 0, 1)
    broker.offsets.commit("high", TOPIC, 0, 5)
    assert correct(peer, compare="low") == {0: 1}
    broker.offsets.commit("twin", "twin", 0, 1)
    broker.offsets.commit("high", "twin", 0, 5)
    assert correct(peer, topic="twin", compare="twin") == {0: 1}
    # As it is meant to be, but with the names exchanged: lower than the group compared with.
    broker.offsets.commit(TOPIC, "odd", 0, 0)
    assert correct(peer, compare="odd") == {0: (1 << 63) - 1}
    broker.offsets.commit(TOPIC, "odd", 3, 0)
    header = QueryCorrectionOffsetHeader(topic=TOPIC, compare_group="odd")
    response = peer.ask(RequestCode.QUERY_CORRECTION_OFFSET, header)
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith("java.lang.NullPointerException")
