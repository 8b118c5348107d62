"""The checks of a send: names, permissions, topic creation."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.sending.checks import check_topic_name
from fakemq.config.model import BrokerConfig
from fakemq.dispatch.answers import Refused
from fakemq.events import MessageChecked
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import BrokerLab, Send, send_header
from tests.support.time import START_MS


def test_name_with_every_allowed_character_passes(lab: BrokerLab) -> None:
    broker = lab.broker()
    check_topic_name(broker, "%RETRY%a-b_c|0")
    check_topic_name(broker, "t" * 127)


@pytest.mark.parametrize("topic", ["", "\t", "a/b", "ä", "t" * 128])
def test_name_with_another_character_is_refused(lab: BrokerLab, topic: str) -> None:
    broker = lab.broker()
    with pytest.raises(Refused) as refused:
        check_topic_name(broker, topic)
    assert refused.value.code is ResponseCode.SYSTEM_ERROR


def test_send_is_refused_before_the_broker_accepts(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(start_accept_send_request_time_stamp=START_MS + 60_123))
    peer = lab.peer(broker.addr)
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(" "), b"x")
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert response.remark is not None
    assert response.remark.startswith("broker unable to service, until 2023-11-")
    assert response.remark.endswith(":20,123")
    lab.clock.advance("61s")
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(), b"x").code == 0


def test_read_only_broker_refuses_ordered_topics_only(broker: Broker, send: Send) -> None:
    broker.config.broker_permission = 4
    assert send().code == ResponseCode.SUCCESS
    broker.topics.update_order_topics(["orders"])
    response = send()
    assert response.code == ResponseCode.NO_PERMISSION
    assert response.remark == "the broker[127.0.0.1] sending message is forbidden"
    assert response.ext_fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


def test_permission_of_the_topic_is_not_checked(broker: Broker, send: Send) -> None:
    broker.topics.update(TopicConfig(topic_name="orders", perm=4))
    assert send().code == ResponseCode.SUCCESS


def test_retry_topic_needs_no_model(broker: Broker, send: Send) -> None:
    assert send(topic="%RETRY%g", default_topic="nothing").code == ResponseCode.SUCCESS
    config = broker.topics.select("%RETRY%g")
    assert config is not None
    assert (config.write_queue_nums, config.topic_sys_flag) == (1, 0)


def test_unit_mode_marks_new_topics(broker: Broker, send: Send) -> None:
    send(unit_mode=True)
    send(topic="%RETRY%g", unit_mode=True)
    flags = {name: one.topic_sys_flag for name, one in broker.topics.snapshot().items()}
    assert (flags["orders"], flags["%RETRY%g"]) == (1, 2)


def test_queue_id_may_be_a_read_queue(broker: Broker, send: Send) -> None:
    broker.topics.update(TopicConfig(topic_name="orders", read_queue_nums=4, write_queue_nums=2))
    assert send(queue_id=3).code == ResponseCode.SUCCESS
    assert send(queue_id=4).code == ResponseCode.SYSTEM_ERROR


def test_only_passed_checks_are_journalled(broker: Broker, send: Send) -> None:
    send(topic="a b")
    send(queue_id=9)
    assert not broker.journal.find(MessageChecked)
    send(queue_id=1)
    assert [(one.topic, one.queue_id) for one in broker.journal.find(MessageChecked)] == [
        ("orders", 1)
    ]
