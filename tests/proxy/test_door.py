"""The front's port for remoting: members, passing on, transactions, and its life."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from fakemq.core import inspection
from fakemq.dispatch.node import NodeState
from fakemq.events import AccessRefused
from fakemq.events.core import RequestReceived
from fakemq.events.grpc import OrphanAsked
from fakemq.protocol.bodies.heartbeat import (
    ConsumerData,
    HeartbeatData,
    ProducerData,
    SubscriptionData,
)
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import decode_records
from fakemq.protocol.sysflag import MessageSysFlag
from tests.support.peer import Peer
from tests.support.proxy_lab import DOOR_PORT, PORT, ProxyLab

DOOR = f"127.0.0.1:{DOOR_PORT}"
BROKER = {"bname": "broker-a"}


@pytest.fixture
def lab() -> Iterator[ProxyLab]:
    lab = ProxyLab(door=True)
    yield lab
    lab.free()


def connected(lab: ProxyLab, name: str = "client") -> Peer:
    return Peer(lab.core.network, lab.core.clock, lab.core.journal, DOOR, name=name)


def send_fields(
    topic: str = "normal", *, group: str = "p", broker: str = "broker-a"
) -> dict[str, str]:
    names = "abcdefghijkmn"
    values = (group, topic, "TBW102", "4", "0", "0", "1", "0", "", "0", "false", "false", broker)
    return dict(zip(names, values, strict=True))


def send(peer: Peer, body: bytes = b"x", **fields: str) -> RemotingCommand:
    return peer.ask(RequestCode.SEND_MESSAGE_V2, body=body, ext_fields=send_fields(**fields))


def pull_fields(offset: int = 0, sys_flag: int = 4, **more: str) -> dict[str, str]:
    return {
        "consumerGroup": "g",
        "topic": "normal",
        "queueId": "0",
        "queueOffset": str(offset),
        "maxMsgNums": "32",
        "sysFlag": str(sys_flag),
        "commitOffset": "0",
        "subVersion": "0",
        "suspendTimeoutMillis": "15000",
        "subscription": "*",
        "expressionType": "TAG",
        **BROKER,
        **more,
    }


def beat(
    peer: Peer, client_id: str, *, group: str = "", topic: str = "normal", producer: str = ""
) -> RemotingCommand:
    subscription = SubscriptionData(topic=topic, sub_string="*", sub_version=1)
    data = ConsumerData(
        group_name=group,
        consume_type="CONSUME_PASSIVELY",
        message_model="CLUSTERING",
        consume_from_where="CONSUME_FROM_LAST_OFFSET",
        subscription_data_set=[subscription],
    )
    heartbeat = HeartbeatData(
        client_id=client_id,
        consumer_data_set=[data] if group else [],
        producer_data_set=[ProducerData(group_name=producer)] if producer else [],
    )
    return peer.ask(RequestCode.HEART_BEAT, body=heartbeat.encode())


def listed(peer: Peer, group: str = "g") -> list[str]:
    fields = {"consumerGroup": group}
    answer = peer.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, ext_fields=fields)
    return [] if answer.code else list(json.loads(answer.body)["consumerIdList"])


# -- what is passed on ----------------------------------------------------------------------------


def test_request_reaches_its_broker_with_the_address_of_the_client(lab: ProxyLab) -> None:
    peer = connected(lab)
    assert send(peer).code == ResponseCode.SUCCESS
    codes = [
        (one.event.node, one.event.code, one.event.peer)
        for one in lab.core.journal
        if isinstance(one.event, RequestReceived) and one.event.code == RequestCode.SEND_MESSAGE_V2
    ]
    assert codes == [
        ("proxy-0", RequestCode.SEND_MESSAGE_V2, peer.session.link.local_addr),
        ("broker-a-0", RequestCode.SEND_MESSAGE_V2, peer.session.link.local_addr),
    ]


def test_held_pull_is_answered_when_a_message_comes(lab: ProxyLab) -> None:
    peer = connected(lab)
    held = peer.send(
        RequestCode.PULL_MESSAGE, ext_fields=pull_fields(sys_flag=6), timeout_ms=30_000
    )
    assert not held.over
    send(peer, b"hello")
    assert held.response is not None
    assert [one.body for one in decode_records(held.response.body)] == [b"hello"]


def test_held_pull_ends_with_its_connection(lab: ProxyLab) -> None:
    peer = connected(lab)
    peer.send(RequestCode.PULL_MESSAGE, ext_fields=pull_fields(sys_flag=6), timeout_ms=30_000)
    assert lab.broker.holds.by_queue
    peer.close()
    assert not lab.broker.holds.by_queue


@pytest.mark.parametrize("broker", ["broker-z", ""])
def test_request_to_no_broker_has_no_answer(lab: ProxyLab, broker: str) -> None:
    peer = connected(lab)
    fields = send_fields(broker=broker)
    asked = peer.send(RequestCode.SEND_MESSAGE_V2, ext_fields=fields)
    assert not asked.over
    assert send(peer).code == ResponseCode.SUCCESS


def test_request_to_a_broker_that_is_down_has_no_answer(lab: ProxyLab) -> None:
    peer = connected(lab)
    lab.broker.kill()
    fields = {"topic": "normal", "queueId": "0", **BROKER}
    asked = peer.send(RequestCode.GET_MAX_OFFSET, ext_fields=fields)
    assert not asked.over


def test_paused_broker_answers_when_it_resumes(lab: ProxyLab) -> None:
    peer = connected(lab)
    lab.broker.pause()
    asked = peer.send(RequestCode.SEND_MESSAGE_V2, body=b"x", ext_fields=send_fields())
    assert not asked.over
    lab.broker.resume()
    lab.core.network.settle()
    assert asked.response is not None
    assert asked.response.code == ResponseCode.SUCCESS


def test_broker_that_is_too_slow_has_no_answer(lab: ProxyLab) -> None:
    peer = connected(lab)
    lab.broker.pause()
    asked = peer.send(RequestCode.SEND_MESSAGE_V2, ext_fields=send_fields(), timeout_ms=10_000)
    lab.core.advance(3_001)
    lab.broker.resume()
    lab.core.network.settle()
    assert not asked.over


def test_one_way_request_is_passed_on(lab: ProxyLab) -> None:
    peer = connected(lab)
    command = RemotingCommand(RequestCode.SEND_MESSAGE_V2, ext_fields=send_fields(), body=b"x")
    peer.session.invoke_oneway(command)
    lab.core.network.settle()
    assert lab.broker.store.max_offset_in_queue("normal", 0) == 1


def test_answers_say_that_nothing_is_traced(lab: ProxyLab) -> None:
    fields = send(connected(lab)).ext_fields
    assert (fields["TRACE_ON"], fields["MSG_REGION"]) == ("false", "")


def test_route_names_the_door_for_slaves_too() -> None:
    lab = ProxyLab(door=True, slaves=1)
    route = connected(lab).ask(
        RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields={"topic": "normal"}, version=513
    )
    (broker,) = json.loads(route.body)["brokerDatas"]
    assert broker["brokerAddrs"] == {"0": DOOR, "1": DOOR}
    lab.free()


# -- members --------------------------------------------------------------------------------------


def test_members_of_both_protocols_are_listed(lab: ProxyLab) -> None:
    peer = connected(lab)
    lab.client("grpc-1").consume("g", push=True)
    beat(peer, "remoting-1", group="g")
    assert listed(peer) == ["remoting-1", "grpc-1"]
    fields = {"consumerGroup": "g"}
    found = peer.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, ext_fields=fields)
    ids = [one["clientId"] for one in json.loads(found.body)["connectionSet"]]
    assert ids == ["remoting-1", "grpc-1"]
    assert [one.client_id for one in inspection.members(lab.core, "g")] == ["grpc-1", "remoting-1"]
    assert not lab.broker.consumers.members("g")


def test_member_leaves_with_its_connection(lab: ProxyLab) -> None:
    peer, other = connected(lab), connected(lab, "other")
    beat(peer, "c1", group="g")
    beat(other, "c2", group="g")
    peer.close()
    assert listed(other) == ["c2"]


def test_silent_member_is_removed(lab: ProxyLab) -> None:
    peer, other = connected(lab), connected(lab, "other")
    beat(peer, "c1", group="g", producer="p")
    for _ in range(14):
        lab.core.advance(10_000)
        beat(other, "c2", group="g")
    assert listed(other) == ["c2"]


def test_member_of_a_group_that_does_not_exist_is_refused() -> None:
    lab = ProxyLab(door=True, config={"autoCreateSubscriptionGroup": "false"})
    answer = beat(connected(lab), "c1", group="g")
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "group not found: g")
    lab.free()


def test_pull_without_a_subscription_has_that_of_its_group(lab: ProxyLab) -> None:
    peer = connected(lab)
    send(peer)
    fields = pull_fields(sys_flag=0, subscription="", expressionType="")
    assert peer.ask(RequestCode.PULL_MESSAGE, ext_fields=fields).code == (
        ResponseCode.SUBSCRIPTION_NOT_LATEST
    )
    beat(peer, "c1", group="g")
    assert peer.ask(RequestCode.PULL_MESSAGE, ext_fields=fields).code == ResponseCode.SUCCESS


def test_reset_keeps_members_that_are_connected(lab: ProxyLab) -> None:
    peer = connected(lab)
    beat(peer, "c1", group="g")
    lab.core.reset()
    assert listed(peer) == ["c1"]


# -- transactions ---------------------------------------------------------------------------------


def test_transaction_ends_only_after_its_producer_was_asked(lab: ProxyLab) -> None:
    peer = connected(lab, "producer")
    beat(peer, "p1", producer="p")
    prepared = str(int(MessageSysFlag.TRANSACTION_PREPARED_TYPE))
    born = {"g": str(lab.core.clock.now_ms()), "f": prepared}
    text = "TRAN_MSG\x01true\x02PGROUP\x01p\x02UNIQ_KEY\x01" + "A" * 32
    fields = send_fields("tx") | born | {"i": text}
    send(peer)  # a half message is never the first of a log
    half = peer.ask(RequestCode.SEND_MESSAGE_V2, body=b"half", ext_fields=fields)
    end = {
        "producerGroup": "p",
        "topic": "tx",
        "commitOrRollback": "8",
        "msgId": "A" * 32,
        "tranStateTableOffset": half.ext_fields["queueOffset"],
        "commitLogOffset": "0",
        "fromTransactionCheck": "false",
        "transactionId": "A" * 32,
        **BROKER,
    }
    assert peer.ask(RequestCode.END_TRANSACTION, ext_fields=end).code == ResponseCode.SUCCESS
    assert lab.broker.store.max_offset_in_queue("tx", 0) == 0
    lab.core.advance(60_000)
    check = peer.requests[0]
    assert check.code == RequestCode.CHECK_TRANSACTION_STATE
    (asked, *_) = [one.event for one in lab.core.journal if isinstance(one.event, OrphanAsked)]
    assert (asked.client_id, asked.topic) == ("p1", "tx")
    checked = end | {"fromTransactionCheck": "true"}
    assert peer.ask(RequestCode.END_TRANSACTION, ext_fields=checked).code == ResponseCode.SUCCESS
    assert lab.broker.store.max_offset_in_queue("tx", 0) == 1


# -- its life -------------------------------------------------------------------------------------


def test_paused_front_reads_nothing(lab: ProxyLab) -> None:
    peer = connected(lab)
    lab.proxy.pause()
    asked = peer.send(RequestCode.SEND_MESSAGE_V2, body=b"x", ext_fields=send_fields())
    assert not asked.over
    lab.proxy.resume()
    lab.core.network.settle()
    assert asked.response is not None


def test_killed_front_forgets_members(lab: ProxyLab) -> None:
    peer = connected(lab)
    beat(peer, "c1", group="g")
    lab.proxy.stop("kill")
    lab.core.network.settle()
    assert peer.closed
    lab.core.start_proxy()
    assert lab.proxy.state is NodeState.RUNNING
    assert listed(connected(lab)) == []
    assert not inspection.members(lab.core, "g")


def test_address_of_the_door_is_not_that_of_grpc(lab: ProxyLab) -> None:
    assert lab.core.door is not None
    assert (lab.core.door.addr, lab.proxy.addr) == (DOOR, f"127.0.0.1:{PORT}")


def test_unsigned_request_is_refused_with_accounts() -> None:
    accounts = [{"accessKey": "administrator", "secretKey": "12345678", "admin": True}]
    lab = ProxyLab(door=True, acl={"accounts": accounts})
    answer = send(connected(lab))
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "username cannot be null.")
    assert not lab.broker.store.max_offset_in_queue("normal", 0)
    assert any(isinstance(one.event, AccessRefused) for one in lab.core.journal)
    lab.free()
