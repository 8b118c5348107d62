"""Group membership: which members are notified of which changes, and when."""

from __future__ import annotations

import json

import pytest

from fakemq.broker.broker import Broker
from fakemq.clock.slices import finished
from fakemq.config.model import BrokerConfig
from fakemq.events import DifferenceEnded, MemberChanged, SubscriptionsDiffer
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand, SerializeType
from fakemq.protocol.headers.client import UnregisterClientRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, TOPIC, beat, consume, consumer_data, subscription
from tests.support.peer import Peer

NOTIFY = RequestCode.NOTIFY_CONSUMER_IDS_CHANGED


def notified(peer: Peer) -> list[str]:
    """The groups of the notifications that arrived since the last look."""
    groups = [
        command.ext_fields["consumerGroup"] for command in peer.requests if command.code == NOTIFY
    ]
    peer.requests.clear()
    return groups


def leave(peer: Peer, client_id: str, group: str = GROUP) -> None:
    header = UnregisterClientRequestHeader(client_id=client_id, consumer_group=group)
    peer.ask(RequestCode.UNREGISTER_CLIENT, header)


def test_new_member_is_announced_to_all_members(lab: BrokerLab, broker: Broker) -> None:
    first, second = lab.peer(broker.addr), lab.peer(broker.addr)
    consume(first, "one")
    assert notified(first) == [GROUP]
    consume(second, "two")
    assert notified(first) == [GROUP]
    assert notified(second) == [GROUP]
    assert [m.client_id for m in broker.consumers.snapshot()[GROUP]] == ["one", "two"]


def test_repeated_heartbeat_notifies_no_member(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    consume(peer)
    notified(peer)
    consume(peer)
    assert notified(peer) == []
    assert len(lab.journal.find(MemberChanged, how="registered")) == 1


def test_changed_topics_are_announced_and_newer_versions_are_not(
    lab: BrokerLab, broker: Broker
) -> None:
    peer = lab.peer(broker.addr)

    def say(*subscriptions: dict[str, object]) -> list[str]:
        beat(peer, consumers=[consumer_data(subscriptions=subscriptions)])
        return notified(peer)

    def expression(topic: str) -> str | None:
        info = broker.consumers.group(GROUP)
        assert info is not None
        return info.subscriptions[topic].sub_string

    assert say(subscription("a")) == [GROUP]
    assert say(subscription("a"), subscription("b")) == [GROUP]
    assert say(subscription("b")) == [GROUP]
    assert say(subscription("b", "x", subVersion=2)) == []
    assert expression("b") == "x"
    assert say(subscription("b", "y", subVersion=1)) == []
    assert expression("b") == "x"


def test_difference_of_members_is_noted_once_until_one_of_them_changes(
    lab: BrokerLab, broker: Broker
) -> None:
    peers = {name: lab.peer(broker.addr) for name in ("one", "two", "three")}
    versions = dict.fromkeys(peers, 1)
    expressions = {"one": "a", "two": "b", "three": "b"}

    def say(*names: str) -> list[tuple[str, str | None, str, str | None]]:
        before = len(lab.journal.find(SubscriptionsDiffer))
        for name in names:
            said = subscription("t", expressions[name], subVersion=versions[name])
            beat(peers[name], name, consumers=[consumer_data(subscriptions=[said])])
        return [
            (one.client_id, one.expression, one.other_client_id, one.other_expression)
            for one in lab.journal.find(SubscriptionsDiffer)[before:]
        ]

    versions["two"] = versions["three"] = 2
    assert say("one", "two", "three") == [("two", "b", "one", "a")]
    assert say("one") == [("one", "a", "three", "b")]
    assert say(*["two", "one", "three", "one"] * 5) == []
    expressions["one"], versions["one"] = "b", 3
    assert say("one", "two", "three", "one") == []
    ended = [(one.client_id, one.other_client_id) for one in lab.journal.find(DifferenceEnded)]
    assert ended == [("two", "one"), ("one", "three")]


def test_notification_is_oneway_json_before_the_answer(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    order: list[str] = []
    commands: list[RemotingCommand] = []

    def take(_session: object, command: RemotingCommand) -> None:
        order.append("notification")
        commands.append(command)

    peer.session._dispatch = take
    body = json.dumps({"clientID": "one", "consumerDataSet": [consumer_data()]}).encode()
    command = RemotingCommand(
        RequestCode.HEART_BEAT, body=body, serialize_type=SerializeType.ROCKETMQ
    )
    peer.session.invoke(command, 3_000, lambda _: order.append("answer"))
    lab.network.settle()
    assert order == ["notification", "answer"]
    assert commands[0].serialize_type is SerializeType.JSON
    assert commands[0].flag == FLAG_ONEWAY


def test_leaving_member_is_announced_to_the_rest(lab: BrokerLab, broker: Broker) -> None:
    first, second = lab.peer(broker.addr), lab.peer(broker.addr)
    consume(first, "one")
    consume(second, "two")
    notified(first)
    notified(second)
    leave(second, "two")
    assert notified(first) == [GROUP]
    assert notified(second) == []


def test_closed_connection_is_announced_to_the_rest_of_its_groups(
    lab: BrokerLab, broker: Broker
) -> None:
    first, second = lab.peer(broker.addr), lab.peer(broker.addr)
    both = [consumer_data("b"), consumer_data("a")]
    beat(first, "one", consumers=both)
    beat(second, "two", consumers=both)
    notified(first)
    second.close()
    assert sorted(notified(first)) == ["a", "b"]
    first.close()
    assert broker.consumers.snapshot() == {}
    assert broker.consumers.group("a") is None


@pytest.mark.parametrize("by", ["group", "broker"])
def test_members_are_not_notified_when_that_is_disabled(lab: BrokerLab, by: str) -> None:
    broker = lab.broker(BrokerConfig(notify_consumer_ids_changed_enable=by != "broker"))
    if by == "group":
        broker.groups.update(
            SubscriptionGroupConfig(group_name=GROUP, notify_consumer_ids_changed_enable=False)
        )
    first, second = lab.peer(broker.addr), lab.peer(broker.addr)
    consume(first, "one")
    consume(second, "two")
    leave(second, "two")
    assert notified(first) == []
    consume(second, "two")
    second.close()
    # Java asks the group's config for heartbeats and leaving, not for closed connections.
    assert notified(first) == ([GROUP] if by == "group" else [])


def test_connection_that_changes_its_client_id_keeps_one_membership(
    lab: BrokerLab, broker: Broker
) -> None:
    peer = lab.peer(broker.addr)
    consume(peer, "one")
    notified(peer)
    consume(peer, "other")
    assert notified(peer) == []
    assert [m.client_id for m in broker.consumers.snapshot()[GROUP]] == ["other"]
    assert broker.consumers.find_channel(GROUP, "one") is None
    found = broker.consumers.find_channel(GROUP, "other")
    assert found is not None
    assert found.client_id == "other"
    assert broker.consumers.find_channel("absent", "other") is None


def test_groups_of_a_topic_are_found(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    beat(peer, consumers=[consumer_data("a"), consumer_data("b", [subscription("other")])])
    assert finished(broker.consumers.groups_of_topic(TOPIC)) == ["a"]
    assert finished(broker.consumers.groups_of_topic("nothing")) == []


def test_unregistering_a_stranger_still_notifies_the_members(
    lab: BrokerLab, broker: Broker
) -> None:
    first, second = lab.peer(broker.addr), lab.peer(broker.addr)
    consume(first, "one")
    notified(first)
    leave(second, "two")
    assert notified(first) == [GROUP]
    leave(second, "two", "no such group")
    assert notified(first) == []


def test_reset_keeps_the_members(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    consume(peer, "one")
    notified(peer)
    broker.reset()
    assert [m.client_id for m in broker.consumers.snapshot()[GROUP]] == ["one"]
    consume(peer, "one")
    assert notified(peer) == []
    peer.close()
    assert broker.consumers.snapshot() == {}


def test_stopped_broker_forgets_its_members(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    beat(peer, consumers=[consumer_data()], producers=["p"])
    broker.kill()
    lab.network.settle()
    assert broker.consumers.snapshot() == {}
    assert broker.producers.snapshot() == {}


def test_last_heartbeat_decides_for_the_group(lab: BrokerLab, broker: Broker) -> None:
    first, second = lab.peer(broker.addr), lab.peer(broker.addr)
    consume(first, "one")
    beat(second, "two", consumers=[consumer_data(messageModel="BROADCASTING")])
    info = broker.consumers.group(GROUP)
    assert info is not None
    assert info.message_model == "BROADCASTING"
    assert repr(info) == "<consumer group billing: 2 members, topics orders>"
