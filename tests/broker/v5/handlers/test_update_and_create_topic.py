"""UPDATE_AND_CREATE_TOPIC (17): names, attributes and what is refused."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from tests.support.peer import Peer

ALLOWED = "allowing only ^[%|a-zA-Z0-9_-]+$"
TOO_LONG = "and it's longer than topic max length: 255"


def create(peer: Peer, topic: str = "orders", **more: str) -> RemotingCommand:
    fields = {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": "2",
        "writeQueueNums": "2",
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    return peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, ext_fields=fields | more)


def test_topic_is_created_with_attributes_and_order(broker: Broker, peer: Peer) -> None:
    answer = create(peer, attributes="+message.type=FIFO,+queue.type=SimpleCQ", order="true")
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, "not set any response code")
    config = broker.topics.select("orders")
    assert config is not None
    assert config.order
    assert config.attributes == {"message.type": "FIFO", "queue.type": "SimpleCQ"}
    shown = peer.ask(RequestCode5.GET_TOPIC_CONFIG, ext_fields={"topic": "orders"}).body
    assert b'"attributes":{' in shown


def test_topic_that_is_the_same_keeps_its_version(broker: Broker, peer: Peer) -> None:
    create(peer)
    version = broker.topics.data_version
    assert create(peer).code == ResponseCode.SUCCESS
    assert broker.topics.data_version == version


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        ("", "The specified topic is blank."),
        (
            "no blanks",
            f"The specified topic: no blanks, contains illegal characters, {ALLOWED}",
        ),
        ("t" * 128, f"The specified topic: {'t' * 128}, is longer than topic max length: 127"),
        (
            "%RETRY%" + "t" * 249,
            f"The specified topic is DLQ or Retry topic: %RETRY%{'t' * 249}, {TOO_LONG}",
        ),
        ("TBW102", "The topic[TBW102] is conflict with system topic."),
        ("rmq_sys_own", "The topic[rmq_sys_own] is conflict with system topic."),
    ],
)
def test_name_that_no_topic_can_have_is_refused(peer: Peer, topic: str, remark: str) -> None:
    answer = create(peer, topic)
    assert (answer.code, answer.remark) == (ResponseCode5.INVALID_PARAMETER, remark)


def test_mixed_type_is_refused_unless_the_config_allows_it(broker: Broker, peer: Peer) -> None:
    answer = create(peer, attributes="+message.type=MIXED")
    assert answer.code == ResponseCode5.INVALID_PARAMETER
    assert answer.remark == "MIXED message type is not supported."
    broker.config.set_property("enableMixedMessageType", "true")
    assert create(peer, attributes="+message.type=MIXED").code == ResponseCode.SUCCESS


@pytest.mark.parametrize(
    ("attributes", "remark"),
    [
        ("message.type=FIFO", "add/alter attribute format is wrong: message.type"),
        ("+message.type", "delete attribute format is wrong: +message.type"),
        ("+message.type=", "Index 1 out of bounds for length 1"),
        ("+a=1,+a=2", "key duplication: +a"),
        (
            "-message.type",
            "only add attribute is supported while creating topic. key: message.type",
        ),
        ("+colour=red", "unsupported key: colour"),
        ("+lite.topic.expiration=x", 'For input string: "x"'),
        ("+lite.topic.expiration=43201", "value is not in range(-1, 43200)"),
        ("+queue.type=RocksDBCQ", "value is not in set: [SimpleCQ, BatchCQ]"),
        ("+message-type=FIFO", "kv string format wrong."),
    ],
)
def test_wrong_attributes_are_refused(
    broker: Broker, peer: Peer, attributes: str, remark: str
) -> None:
    answer = create(peer, attributes=attributes)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    if "in set" in remark:  # the order of Java's set
        assert sorted(str(answer.remark)) == sorted(remark)
    else:
        assert answer.remark == remark
    assert broker.topics.select("orders") is None


def test_wrong_filter_type_is_refused(peer: Peer) -> None:
    answer = create(peer, topicFilterType="NONE")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "topicFilterType = [NONE] value invalid" in str(answer.remark)
