"""GET_ALL_CONSUMER_OFFSET (43): offsets, the topics of groups, and a version."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import BrokerConfig5
from fakemq.protocol import fastjson
from fakemq.protocol.codes import RequestCode
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.peer import Peer


def test_answer_has_all_that_java_says(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("billing", "orders", 0, 3)
    broker.offsets.commit("billing", "returns", 1, 4)
    broker5(broker).pull_offsets.commit("orders", "billing", 0, 5)
    body = peer.ask(RequestCode.GET_ALL_CONSUMER_OFFSET).body
    found = fastjson.loads(body)
    assert sorted(found.pop("groupTopicMap")["billing"]) == ["orders", "returns"]
    assert found == {
        "dataVersion": {"counter": 0, "stateVersion": 0, "timestamp": lab.clock.now_ms()},
        "offsetTable": {"orders@billing": {0: 3}, "returns@billing": {1: 4}},
        "pullOffsetTable": {},  # no slave of Java's could read it
    }


def test_light_groups_have_a_table_of_their_own(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig5(enable_lmq=True), reference=REFERENCE)
    broker.offsets.commit("%LMQ%one", "orders", 0, 3)
    body = lab.peer(broker.addr).ask(RequestCode.GET_ALL_CONSUMER_OFFSET).body
    assert fastjson.loads(body)["lmqOffsetTable"] == {"orders@%LMQ%one": 3}
