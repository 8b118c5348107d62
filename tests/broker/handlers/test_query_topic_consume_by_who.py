"""QUERY_TOPIC_CONSUME_BY_WHO: the groups that consume a topic."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.group import GroupList
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.topic import QueryTopicConsumeByWhoRequestHeader
from tests.support.clients import GROUP, TOPIC, consume
from tests.support.peer import Peer


def groups(peer: Peer, topic: str = TOPIC) -> list[str]:
    header = QueryTopicConsumeByWhoRequestHeader(topic=topic)
    response = peer.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
    assert response.code == ResponseCode.SUCCESS
    return sorted(GroupList.decode(response.body).group_list)


def test_groups_with_members_and_groups_with_offsets_are_listed(broker: Broker, peer: Peer) -> None:
    assert groups(peer) == []
    consume(peer)
    broker.offsets.commit("archive", TOPIC, 0, 5)
    broker.offsets.commit(GROUP, TOPIC, 0, 5)
    broker.offsets.commit("elsewhere", "others", 0, 5)
    assert groups(peer) == ["archive", GROUP]
    assert groups(peer, "others") == ["elsewhere"]
