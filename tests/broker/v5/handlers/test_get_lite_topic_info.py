"""GET_LITE_TOPIC_INFO: offsets and subscribers of a lite topic."""

from __future__ import annotations

from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.lite import GetLiteTopicInfoRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.lites import asked, bind, control, lite_broker, send_lite, subscribe
from tests.support.time import START_MS


def test_lite_topic_has_offsets_and_subscribers(lab: BrokerLab) -> None:
    broker = lite_broker(lab)
    bind(broker, "all", wildcard="true")
    peer = lab.peer(broker.addr)
    subscribe(peer, "a")
    control(peer, "COMPLETE_ADD", client_id="c2", group="all")
    send_lite(peer, "a")
    header = GetLiteTopicInfoRequestHeader(parent_topic="sessions", lite_topic="a")
    assert asked(peer, RequestCode5.GET_LITE_TOPIC_INFO, header) == {
        "parentTopic": "sessions",
        "liteTopic": "a",
        "subscriber": [
            {"clientId": "c1", "group": "agents"},
            {"clientId": "*", "group": "all"},
        ],
        "topicOffset": {"minOffset": 0, "maxOffset": 1, "lastUpdateTimestamp": START_MS},
        "shardingToBroker": True,
    }


def test_names_are_needed(lab: BrokerLab) -> None:
    peer = lab.peer(lite_broker(lab).addr)
    for header in (
        GetLiteTopicInfoRequestHeader(),
        GetLiteTopicInfoRequestHeader(parent_topic="sessions"),
    ):
        assert peer.ask(RequestCode5.GET_LITE_TOPIC_INFO, header).code == 1
    header = GetLiteTopicInfoRequestHeader(parent_topic="nowhere", lite_topic="a")
    assert peer.ask(RequestCode5.GET_LITE_TOPIC_INFO, header).code == 17
