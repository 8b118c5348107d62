"""UPDATE_AND_CREATE_TOPIC_LIST (18)."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from tests.support.peer import Peer


def create(peer: Peer, *topics: str, **more: object) -> RemotingCommand:
    configs = [{"topicName": name, "readQueueNums": 2, "attributes": {}} | more for name in topics]
    body = json.dumps({"topicConfigList": configs}).encode()
    return peer.ask(RequestCode5.UPDATE_AND_CREATE_TOPIC_LIST, body=body)


def test_topics_are_created_together(broker: Broker, peer: Peer) -> None:
    answer = create(peer, "one", "two", attributes={"+message.type": "FIFO"})
    assert answer.code == ResponseCode.SUCCESS
    for name in ("one", "two"):
        config = broker.topics.select(name)
        assert config is not None
        assert (config.read_queue_nums, config.attributes) == (2, {"message.type": "FIFO"})


def test_one_wrong_name_refuses_all(broker: Broker, peer: Peer) -> None:
    assert create(peer, "one", "no blanks").code == ResponseCode5.INVALID_PARAMETER
    assert broker.topics.select("one") is None


def test_topic_that_is_the_same_ends_the_request(broker: Broker, peer: Peer) -> None:
    create(peer, "one")
    assert create(peer, "one", "two").code == ResponseCode.SUCCESS
    assert broker.topics.select("two") is None
