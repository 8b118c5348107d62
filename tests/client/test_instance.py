"""One client instance: routes, heartbeats, unregistering, requests of brokers."""

from __future__ import annotations

import pytest

from fakemq.client.admin import Admin
from fakemq.client.errors import (
    MQBrokerError,
    MQClientError,
    RemotingConnectError,
    RemotingTimeoutError,
)
from fakemq.client.instance import ClientInstance
from fakemq.client.pull_operations import PullOperations
from fakemq.protocol.bodies.heartbeat import (
    ConsumerData,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand, SerializeType
from tests.support.scripted_operation import (
    NAMESRV,
    A,
    B,
    ScriptedOperation,
    answer,
    client,
    queue,
    route,
)
from tests.support.time import ManualTime


def test_route_is_cached_for_30_s() -> None:
    time = ManualTime()
    instance = client(time=time)
    play = ScriptedOperation(instance.known_route("orders"), answer(body=route("a")))
    assert (play.addrs, play.codes) == ([NAMESRV], [RequestCode.GET_ROUTEINFO_BY_TOPIC])
    assert play.calls[0].command.ext_fields == {"topic": "orders"}
    time.passed_ms = 29_999
    assert not ScriptedOperation(instance.known_route("orders")).calls
    time.passed_ms = 30_000
    assert (
        ScriptedOperation(instance.known_route("orders"), answer(body=route("b"))).result
        is not None
    )
    assert instance.routes.master_addr("b") == B


@pytest.mark.parametrize("failure", [answer(17), RemotingConnectError(NAMESRV)])
def test_old_route_is_used_when_no_new_one_arrives(failure: RemotingCommand) -> None:
    time = ManualTime()
    instance = client("a", time=time)
    time.passed_ms = 60_000
    assert (
        ScriptedOperation(instance.known_route("orders"), failure).result
        is instance.routes.routes["orders"]
    )


def test_unknown_topic_is_sent_by_the_route_of_the_create_topic_key() -> None:
    instance = client()
    play = ScriptedOperation(
        instance.route_to_send("new"), answer(17), answer(body=route("a", queues=8))
    )
    assert [call.command.ext_fields["topic"] for call in play.calls] == ["new", "TBW102"]
    assert len(play.result.publish_queues) == 4
    assert play.result.publish_queues[0] == queue("a", 0, "new")


def test_missing_route_raises_javas_error() -> None:
    with pytest.raises(MQClientError, match="No route info of this topic: new") as caught:
        ScriptedOperation(client().route_to_send("new"), answer(17), answer(17))
    assert caught.value.code == 10005


def test_other_error_of_the_name_server_is_raised() -> None:
    with pytest.raises(MQBrokerError, match=r"SYSTEM_ERROR \(1\) from ns:9876: broken"):
        ScriptedOperation(client().update_route("orders"), answer(1, remark="broken"))


def test_master_of_an_unknown_broker_is_looked_up_once() -> None:
    instance = client()
    assert ScriptedOperation(instance.master_addr(queue("b")), answer(body=route("b"))).result == B
    with pytest.raises(MQClientError, match=r"The broker\[c\] not exist"):
        ScriptedOperation(instance.master_addr(queue("c")), answer(body=route("b")))


def test_list_of_too_many_members_is_refused() -> None:
    body = GetConsumerListByGroupResponseBody(consumer_id_list=["a"] * 65_537)
    with pytest.raises(MQClientError, match="names 65537 members of g"):
        ScriptedOperation(client("a").consumer_ids("orders", "g"), answer(body=body))


def test_heartbeat_goes_to_every_broker_that_is_up() -> None:
    instance = client("a", "b")
    instance.consumers["g"] = ConsumerData(group_name="g")
    play = ScriptedOperation(instance.heartbeat(), RemotingConnectError(A), answer())
    assert (play.addrs, play.result) == ([A, B], {B: 407})
    notified = HeartbeatData.decode(play.calls[1].command.body)
    assert notified.client_id == instance.client_id
    assert [one.group_name for one in notified.consumer_data_set] == ["g"]


def test_heartbeat_enters_no_group_that_was_left_meanwhile() -> None:
    instance = client("a", "b")
    instance.consumers["left"] = ConsumerData(group_name="left")
    instance.producer_groups["p"] = None
    play = ScriptedOperation(instance.heartbeat())
    ScriptedOperation(instance.unregister(consumer_group="left"), answer(), answer())
    play.answer(answer())
    second = HeartbeatData.decode(play.calls[1].command.body)
    assert (play.addrs, second.consumer_data_set) == ([A, B], [])
    assert [one.group_name for one in second.producer_data_set] == ["p"]


def test_heartbeat_ends_when_the_last_group_was_left_meanwhile() -> None:
    instance = client("a", "b")
    instance.consumers["left"] = ConsumerData(group_name="left")
    play = ScriptedOperation(instance.heartbeat())
    ScriptedOperation(instance.unregister(consumer_group="left"), answer(), answer())
    play.answer(answer())
    assert (play.addrs, play.over) == ([A], True)


def test_client_without_groups_sends_no_heartbeat_and_a_producer_only_to_masters() -> None:
    instance = client()
    data = route("a")
    data.broker_datas[0].broker_addrs[1] = "a:slave"
    instance.routes.put("orders", data, 0)
    assert ScriptedOperation(instance.heartbeat()).calls == []
    instance.producer_groups["p"] = None
    assert ScriptedOperation(instance.heartbeat(), answer()).addrs == [A]


def test_heartbeat_goes_to_no_broker_that_no_route_names_any_more() -> None:
    instance = client("a", "b")
    instance.producer_groups["p"] = None
    assert ScriptedOperation(instance.heartbeat(), answer(), answer()).addrs == [A, B]
    instance.routes.put("orders", route("b"), 0)
    assert ScriptedOperation(instance.heartbeat(), answer()).addrs == [B]
    assert ScriptedOperation(instance.unregister(producer_group="p"), answer()).addrs == [B]
    assert instance.broker_versions == {B: 407}


def test_vip_channel_is_for_what_java_asks_there() -> None:
    instance = client("a", vip_channel=True)
    instance.producer_groups["p"] = None
    consumer, admin, vip = PullOperations(instance, "g"), Admin(instance), "a:10909"
    check = consumer.check_expression(queue(), "a > 1", "SQL92")
    for expected, operation in (
        (vip, consumer.query_offset(queue())),
        (vip, consumer.update_offset(queue(), 3)),
        (vip, consumer.update_offset(queue(), 3, oneway=False)),
        (vip, consumer.lock([queue()])),
        (vip, consumer.unlock([queue()])),
        (A, consumer.unlock([queue()], oneway=True)),
        (A, consumer.pull(queue(), 0)),
        (vip, check),
        (vip, admin.max_offset(queue())),
        (vip, instance.consumer_ids("orders", "g")),
        (A, instance.heartbeat()),
        (A, instance.unregister(producer_group="p")),
    ):
        assert ScriptedOperation(operation).addrs == [expected], operation


def test_unregistering_goes_to_every_broker_for_every_group() -> None:
    instance = client("a", "b")
    instance.consumers["g"] = ConsumerData(group_name="g")
    instance.producer_groups["p"] = None
    play = ScriptedOperation(
        instance.unregister_all(), *([answer()] * 3), RemotingTimeoutError(B, 3000)
    )
    assert play.over
    assert [call.command.ext_fields for call in play.calls] == [
        {"clientID": instance.client_id, "consumerGroup": "g"}
    ] * 2 + [{"clientID": instance.client_id, "producerGroup": "p"}] * 2
    assert not instance.consumers
    assert not instance.producer_groups


def test_members_of_a_group_come_from_a_broker_of_the_topic() -> None:
    body = GetConsumerListByGroupResponseBody(consumer_id_list=["x"])
    play = ScriptedOperation(client("a").consumer_ids("orders", "g"), answer(body=body))
    assert (play.addrs, play.result) == ([A], ["x"])


def test_brokers_request_is_answered_by_its_handler_unless_one_way() -> None:
    instance = client(serialize_type=SerializeType.ROCKETMQ)
    seen: list[str] = []

    def handler(addr: str, request: RemotingCommand) -> RemotingCommand:
        seen.append(addr)
        return RemotingCommand(0)

    instance.handlers[RequestCode.NOTIFY_CONSUMER_IDS_CHANGED] = handler
    request = RemotingCommand(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, opaque=5)
    response = instance.handle(A, request)
    assert response is not None
    assert (response.opaque, response.is_response) == (5, True)
    assert response.serialize_type is SerializeType.JSON
    request.flag |= FLAG_ONEWAY
    assert instance.handle(A, request) is None
    assert seen == [A, A]


def test_request_without_a_handler_is_answered_with_javas_remark() -> None:
    response = client().handle(A, RemotingCommand(307))
    assert response is not None
    assert (response.code, response.remark) == (3, " request type 307 not supported")


def test_seed_fixes_the_client_id_and_the_unique_ids() -> None:
    one, other = client(), client()
    assert one.client_id == other.client_id
    assert one.client_id.startswith("10.0.0.1@7#")
    assert one.unique_ids.create(0) == other.unique_ids.create(0)


def test_several_name_servers_are_joined_by_semicolons() -> None:
    assert sorted(ClientInstance(" n1:1; n2:1 ;").name_servers.addrs) == ["n1:1", "n2:1"]
