"""UPDATE_CONSUMER_OFFSET (15): what has to be there."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.v5.codes import ResponseCode5
from tests.support.peer import Peer

FIELDS = {"consumerGroup": "G", "topic": "orders", "queueId": "0", "commitOffset": "7"}


def test_offset_is_stored_once_group_and_topic_exist(broker: Broker, peer: Peer) -> None:
    code = RequestCode.UPDATE_CONSUMER_OFFSET
    answer = peer.ask(code, ext_fields=FIELDS)
    assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert answer.remark == "Group G not exist!"
    broker.groups.update(SubscriptionGroupConfig(group_name="G"))
    answer = peer.ask(code, ext_fields=FIELDS)
    assert (answer.code, answer.remark) == (ResponseCode.TOPIC_NOT_EXIST, "Topic orders not exist!")
    broker.create_topic("orders", 1)
    for absent, name in (("queueId", "QueueId"), ("commitOffset", "Offset")):
        fields = {key: value for key, value in FIELDS.items() if key != absent}
        answer = peer.ask(code, ext_fields=fields)
        assert answer.code == ResponseCode5.INVALID_PARAMETER
        assert answer.remark == f"{name} is null, topic is orders"
    assert peer.ask(code, ext_fields=FIELDS).code == ResponseCode.SUCCESS
    assert broker.offsets.query("G", "orders", 0) == 7
