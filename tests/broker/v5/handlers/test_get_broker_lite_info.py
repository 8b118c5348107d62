"""GET_BROKER_LITE_INFO: how many lite topics and subscriptions a broker has."""

from __future__ import annotations

from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import BrokerLab
from tests.support.lites import asked, lite_broker, make_parent, pop_lite, send_lite, subscribe


def test_counts_of_a_broker(lab: BrokerLab) -> None:
    broker = lite_broker(lab)
    make_parent(broker, "other", lite_topic_expiration="30")
    peer = lab.peer(broker.addr)
    subscribe(peer, "a", "b")
    send_lite(peer, "a")
    pop_lite(peer)
    assert asked(peer, RequestCode5.GET_BROKER_LITE_INFO) == {
        "storeType": "default",
        "maxLmqNum": 20_000,
        "currentLmqNum": 1,
        "liteSubscriptionCount": 2,
        "orderInfoCount": 1,
        "cqTableSize": 4,
        "offsetTableSize": 1,
        "eventMapSize": 1,
        "topicMeta": {"sessions": -1, "other": 30},
        "groupMeta": {"sessions": ["agents"]},
    }
