"""UPDATE_AND_CREATE_TOPIC: a topic is created or changed, and registered at name servers."""

from __future__ import annotations

import pytest

from fakemq.config.model import BrokerConfig
from fakemq.events import TopicChanged
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.topic import CreateTopicRequestHeader
from tests.support.broker_lab import BrokerLab


def header(topic: str = "orders", **fields: str | int | bool) -> CreateTopicRequestHeader:
    header = CreateTopicRequestHeader(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=3,
        write_queue_nums=2,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        topic_sys_flag=0,
        order=True,
    )
    vars(header).update(fields)
    return header


def test_topic_is_created_and_changed(lab: BrokerLab) -> None:
    broker = lab.broker()
    peer = lab.peer(broker.addr)
    version = broker.topics.data_version
    response = peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header())
    # Java forgets to clear the remark that a response begins with.
    assert (response.code, response.remark) == (
        ResponseCode.SUCCESS,
        "not set any response code",
    )
    config = broker.topics.select("orders")
    assert config is not None
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (3, 2, 6)
    assert config.order is False, "the order of the request is ignored"
    peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header(write_queue_nums=8))
    config = broker.topics.select("orders")
    assert config is not None
    assert config.write_queue_nums == 8
    assert broker.topics.data_version.counter == version.counter + 2
    assert [event.how for event in broker.journal.find(TopicChanged)] == ["created", "updated"]


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        ("", "The specified topic is blank."),
        (
            "a.b",
            "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        ),
        ("t" * 128, "The specified topic is longer than topic max length."),
        ("TBW102", "The topic[TBW102] is conflict with system topic."),
        ("rmq_sys_x", "The topic[rmq_sys_x] is conflict with system topic."),
        ("broker-a", "The topic[broker-a] is conflict with system topic."),
        ("DefaultCluster", "The topic[DefaultCluster] is conflict with system topic."),
    ],
)
def test_system_topics_are_refused(lab: BrokerLab, topic: str, remark: str) -> None:
    response = lab.peer(lab.broker().addr).ask(
        RequestCode.UPDATE_AND_CREATE_TOPIC, ext_fields={**header().encode(), "topic": topic}
    )
    assert (response.code, response.remark) == (ResponseCode.SYSTEM_ERROR, remark)


def test_unknown_filter_type_is_refused(lab: BrokerLab) -> None:
    response = lab.peer(lab.broker().addr).ask(
        RequestCode.UPDATE_AND_CREATE_TOPIC, header(topic_filter_type="NONE")
    )
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith(
        "org.apache.rocketmq.remoting.exception.RemotingCommandException:"
        " topicFilterType = [NONE] value invalid, "
    )


def test_slave_refuses_and_names_its_master(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(broker_role="SLAVE", broker_id=1))
    response = lab.peer(broker.addr).ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header())
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert response.remark == (
        "Can't modify topic or subscription group from slave broker, "
        "please execute it from master broker."
    )


def test_answer_waits_a_limited_time_for_the_name_servers(lab: BrokerLab) -> None:
    name_server = lab.name_server("10.0.0.1:9876")
    broker = lab.broker(namesrv_addrs=("10.0.0.1:9876", "10.0.0.2:9876"))
    peer = lab.peer(broker.addr)
    name_server.requests.clear()
    name_server.answer = lambda request: None
    answer = peer.send(RequestCode.UPDATE_AND_CREATE_TOPIC, header(), timeout_ms=20_000)
    assert not answer.over
    assert name_server.codes() == [RequestCode.REGISTER_BROKER]
    lab.clock.advance("6s")
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS
