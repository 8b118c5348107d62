"""QUERY_TOPICS_BY_CONSUMER (343), QUERY_SUBSCRIPTION_BY_CONSUMER (345), group forbidden (353)."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.broker.parts_5_5_0 import parts_of
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.codes_5_5_0 import RequestCode5
from tests.support.peer import Peer

FIELDS = {"group": "G", "topic": "TBW102"}


def test_topics_of_a_group_are_those_with_offsets(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("G", "TBW102", 0, 3)
    answer = peer.ask(RequestCode5.QUERY_TOPICS_BY_CONSUMER, ext_fields={"group": "G"})
    assert json.loads(answer.body) == {"brokerAddr": broker.addr, "topicList": ["TBW102"]}


def test_subscription_of_an_unknown_group_is_left_out(peer: Peer) -> None:
    answer = peer.ask(RequestCode5.QUERY_SUBSCRIPTION_BY_CONSUMER, ext_fields=FIELDS)
    assert json.loads(answer.body) == FIELDS


def test_forbidden_topic_is_said_and_allowed_again(broker: Broker, peer: Peer) -> None:
    def ask(**more: str) -> object:
        answer = peer.ask(RequestCode5.UPDATE_AND_GET_GROUP_FORBIDDEN, ext_fields=FIELDS | more)
        assert answer.code == ResponseCode.SUCCESS
        return json.loads(answer.body)["readable"]

    assert ask() is True
    assert ask(readable="false") is False
    assert ask(topic="other", readable="false") is False
    assert parts_of(broker).forbidden.is_forbidden("G", "TBW102")
    assert ask(topic="other", readable="true") is True
    assert ask() is True  # Java then allows the group all topics


def test_offsets_of_a_deleted_group_go_with_clean_offset_only(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("G", "TBW102", 0, 3)
    fields = {"groupName": "G", "removeOffset": "true"}
    assert peer.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext_fields=fields).code == 0
    assert broker.offsets.query("G", "TBW102", 0) == 3
    fields = {"groupName": "G", "cleanOffset": "true"}
    assert peer.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext_fields=fields).code == 0
    assert broker.offsets.query("G", "TBW102", 0) == -1


def test_broker_consume_stats_count_what_was_consumed_below_zero(
    broker: Broker, peer: Peer
) -> None:
    broker.groups.find("G")
    broker.offsets.commit("G", "TBW102", 0, 3)
    answer = peer.ask(RequestCode.GET_BROKER_CONSUME_STATS, ext_fields={"isOrder": "false"})
    assert b'"totalInflightDiff":-3' in answer.body
