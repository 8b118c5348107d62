"""GET_LITE_GROUP_INFO: how far a group is behind."""

from __future__ import annotations

import pytest

from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.lite import GetLiteGroupInfoRequestHeader
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.lites import (
    ack_lite,
    asked,
    lite_broker,
    pop_lite,
    send_lite,
    subscribe,
)
from tests.support.time import START_MS


def test_group_is_furthest_behind_in_the_first_of_the_list(lab: BrokerLab) -> None:
    broker = lite_broker(lab)
    broker5(broker).config.lite_lag_latency_collect_enable = True
    peer = lab.peer(broker.addr)
    subscribe(peer, "a", "b")
    for lite, count in (("a", 2), ("b", 3)):
        for _ in range(count):
            send_lite(peer, lite)
    for message in pop_lite(peer, max_msg_num=1):
        ack_lite(peer, message)
    pop_lite(peer, max_msg_num=2)
    header = GetLiteGroupInfoRequestHeader(group="agents", top_k=1)
    found = asked(peer, RequestCode5.GET_LITE_GROUP_INFO, header)
    assert found["totalLagCount"] == 4
    assert found["lagCountTopK"] == [
        {"liteTopic": "b", "lagCount": 3, "earliestUnconsumedTimestamp": START_MS}
    ]
    assert found["earliestUnconsumedTimestamp"] == START_MS


def test_one_lite_topic_has_its_offsets(lab: BrokerLab) -> None:
    peer = lab.peer(lite_broker(lab).addr)
    subscribe(peer, "a")
    for _ in range(2):
        send_lite(peer, "a")
    for message in pop_lite(peer, max_msg_num=1):
        ack_lite(peer, message)
    header = GetLiteGroupInfoRequestHeader(group="agents", lite_topic="a", top_k=1)
    found = asked(peer, RequestCode5.GET_LITE_GROUP_INFO, header)
    assert found["totalLagCount"] == 1
    assert found["liteTopicOffsetWrapper"] == {
        "brokerOffset": 2,
        "consumerOffset": 1,
        "lastTimestamp": START_MS,
        "pullOffset": 0,
    }
    header.lite_topic = "none"
    found = asked(peer, RequestCode5.GET_LITE_GROUP_INFO, header)
    assert (found["totalLagCount"], found["earliestUnconsumedTimestamp"]) == (-1, -1)


@pytest.mark.parametrize(("group", "top_k", "code"), [("usual", 1, 29), ("agents", 0, 1)])
def test_other_questions_are_refused(lab: BrokerLab, group: str, top_k: int, code: int) -> None:
    header = GetLiteGroupInfoRequestHeader(group=group, top_k=top_k)
    peer = lab.peer(lite_broker(lab).addr)
    assert peer.ask(RequestCode5.GET_LITE_GROUP_INFO, header).code == code
