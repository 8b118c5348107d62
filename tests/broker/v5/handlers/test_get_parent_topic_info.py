"""GET_PARENT_TOPIC_INFO: how many lite topics a parent has."""

from __future__ import annotations

import pytest

from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.lite import GetParentTopicInfoRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.lites import asked, lite_broker, send_lite


def test_parent_has_its_lite_topics_and_groups(lab: BrokerLab) -> None:
    peer = lab.peer(lite_broker(lab).addr)
    for lite in ("a", "b"):
        send_lite(peer, lite)
    header = GetParentTopicInfoRequestHeader(topic="sessions")
    assert asked(peer, RequestCode5.GET_PARENT_TOPIC_INFO, header) == {
        "topic": "sessions",
        "ttl": -1,
        "groups": ["agents"],
        "lmqNum": 2,
        "liteTopicCount": 2,
    }


@pytest.mark.parametrize(
    ("topic", "code", "remark"),
    [
        ("nowhere", 17, "Topic [nowhere] not exist."),
        ("usual", 29, "Topic [usual] type not match."),
    ],
)
def test_other_topics_are_refused(lab: BrokerLab, topic: str, code: int, remark: str) -> None:
    broker = lite_broker(lab)
    broker.create_topic("usual", 1)
    header = GetParentTopicInfoRequestHeader(topic=topic)
    answer = lab.peer(broker.addr).ask(RequestCode5.GET_PARENT_TOPIC_INFO, header)
    assert (answer.code, answer.remark) == (code, remark)
