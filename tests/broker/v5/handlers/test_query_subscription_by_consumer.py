"""QUERY_SUBSCRIPTION_BY_CONSUMER (345)."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import BrokerConfig5
from fakemq.protocol.sysflag import PullSysFlag
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab
from tests.support.clients import pull
from tests.support.peer import Peer
from tests.support.pops import GROUP, TOPIC, pop

FIELDS = {"group": "G", "topic": "TBW102"}
RETRY_TOPIC = f"%RETRY%{GROUP}_{TOPIC}"


def said(peer: Peer, topic: str = TOPIC) -> dict[str, object] | None:
    """Return what a broker says about the subscription of `GROUP`."""
    fields = {"group": GROUP, "topic": topic}
    answer = peer.ask(RequestCode5.QUERY_SUBSCRIPTION_BY_CONSUMER, ext_fields=fields)
    found: dict[str, object] | None = json.loads(answer.body).get("subscriptionData")
    return found


def test_subscription_of_an_unknown_group_is_left_out(peer: Peer) -> None:
    answer = peer.ask(RequestCode5.QUERY_SUBSCRIPTION_BY_CONSUMER, ext_fields=FIELDS)
    assert json.loads(answer.body) == FIELDS


def test_pop_counts_as_a_subscription_for_a_while(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig5(subscription_expired_timeout=60_000), reference=REFERENCE)
    broker.create_topic(TOPIC, 1)
    peer = lab.peer(broker.addr)
    assert said(peer) is None
    now_ms = broker.clock.now_ms()
    pop(peer, exp="red || green")
    found, again = said(peer), said(peer, RETRY_TOPIC)
    assert found is not None
    assert again is not None
    assert (found["subString"], found["subVersion"]) == ("red || green", now_ms)
    assert found["tagsSet"] == ["red", "green"]
    assert again["subString"] == "*"
    lab.pass_time(60_000)
    assert said(peer) is not None
    lab.pass_time(1)
    assert said(peer) is None


def test_pop_without_an_expression_wants_all(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    pop(peer, exp="")
    found = said(peer)
    assert found is not None
    assert (found["subString"], found["expressionType"]) == ("*", "TAG")


def test_pull_with_a_subscription_counts_as_one_of_its_topic(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    pull(peer, subscription="red", sys_flag=PullSysFlag.SUBSCRIPTION, consumer_group=GROUP)
    found = said(peer)
    assert found is not None
    assert found["subString"] == "red"
    assert said(peer, RETRY_TOPIC) is None, "only pops read that"


def test_reset_forgets_what_was_read(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    pop(peer)
    broker.reset()
    assert said(peer) is None
