"""What tools ask each broker for."""

from __future__ import annotations

import pytest

from fakemq.client.cluster_admin import ClusterAdmin
from fakemq.client.errors import MQBrokerError
from fakemq.protocol.bodies.connection import ProducerInfo, ProducerTableInfo
from fakemq.protocol.bodies.group import (
    GroupList,
    SubscriptionGroupConfig,
    SubscriptionGroupWrapper,
)
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.bodies.route import TopicList
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.scripted_operation import A, ScriptedOperation, answer, client


def test_lists_of_a_broker_are_read() -> None:
    admin = ClusterAdmin(client())
    groups = {"g": SubscriptionGroupConfig(group_name="g")}
    body = SubscriptionGroupWrapper(subscription_group_table=groups).encode()
    play = ScriptedOperation(admin.groups(A), answer(body=body))
    assert (play.result, play.addrs) == (groups, [A])
    assert play.codes == [RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG]
    table = {"putTps": "1.0 2.0 3.0"}
    assert (
        ScriptedOperation(admin.runtime_info(A), answer(body=KVTable(table=table).encode())).result
        == table
    )
    body = TopicList(topic_list=["TBW102"]).encode()
    assert ScriptedOperation(admin.system_topics(A), answer(body=body)).result == ["TBW102"]
    of_topic = ScriptedOperation(
        admin.groups_of_topic("orders", A), answer(body=GroupList(group_list=["g"]).encode())
    )
    assert of_topic.result == ["g"]
    assert of_topic.calls[0].command.ext_fields == {"topic": "orders"}
    producers = ProducerTableInfo(data={"shop": [ProducerInfo(client_id="c")]})
    listed = ScriptedOperation(admin.producers(A), answer(body=producers.encode()))
    assert listed.result == producers


def test_broker_without_members_or_the_code_has_none() -> None:
    admin = ClusterAdmin(client())
    play = ScriptedOperation(admin.members("g", A), answer(ResponseCode.CONSUMER_NOT_ONLINE))
    assert play.result is None
    refused = answer(ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
    assert ScriptedOperation(admin.producers(A), refused).result == ProducerTableInfo()
    with pytest.raises(MQBrokerError):
        ScriptedOperation(admin.members("g", A), answer(ResponseCode.SYSTEM_ERROR)).result  # noqa: B018
    with pytest.raises(MQBrokerError):
        ScriptedOperation(admin.producers(A), answer(ResponseCode.SYSTEM_ERROR)).result  # noqa: B018
