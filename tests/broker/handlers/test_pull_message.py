"""PULL_MESSAGE: what no recording shows, and what it leaves in the journal."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import Delivered, OffsetCommitted, PullHeld
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.broker_lab import BrokerLab
from tests.support.clients import (
    GROUP,
    TOPIC,
    beat,
    consumer_data,
    long_pull,
    pull,
    pull_header,
    send,
    subscription,
)
from tests.support.peer import Peer

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
HEARTBEAT_ONLY = 0
"""A sysFlag by which the subscription is the heartbeat's."""


class Said(NamedTuple):
    code: int
    remark: str | None


def said(response: RemotingCommand) -> Said:
    return Said(response.code, response.remark)


def offsets(response: RemotingCommand) -> tuple[int, int, int]:
    """Next, minimum and maximum offset."""
    fields = response.ext_fields
    return int(fields["nextBeginOffset"]), int(fields["minOffset"]), int(fields["maxOffset"])


@pytest.fixture
def topic(broker: Broker) -> str:
    broker.create_topic(TOPIC, 4)
    return TOPIC


# -- what is found ----------------------------------------------------------------------------


def test_messages_are_returned_as_the_log_stores_them(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    for _ in range(3):
        send(peer)
    response = pull(peer, 1)
    assert said(response) == (0, "FOUND")
    assert response.ext_fields == {
        "suggestWhichBrokerId": "0",
        "nextBeginOffset": "3",
        "minOffset": "0",
        "maxOffset": "3",
    }
    size = int.from_bytes(response.body[:4], "big")
    assert len(response.body) == 2 * size
    assert response.body.count(b"body") == 2
    assert lab.journal.find(Delivered)[0] == Delivered(
        node=broker.name,
        topic=TOPIC,
        queue_id=0,
        offsets=range(1, 3),
        next_offset=3,
        group=GROUP,
        peer=peer.session.link.local_addr,
    )


def test_negative_number_of_messages_returns_none(peer: Peer) -> None:
    send(peer)
    response = peer.ask(
        RequestCode.PULL_MESSAGE,
        pull_header(max_msg_nums=-1),
        serialize_type=SerializeType.ROCKETMQ,
    )
    assert said(response).code == ResponseCode.SYSTEM_ERROR
    assert response.serialize_type is SerializeType.JSON, "as of every exception"
    assert (response.remark or "").startswith(
        "java.lang.IllegalArgumentException: Illegal Capacity: -1, "
    )
    at_the_end = peer.ask(RequestCode.PULL_MESSAGE, pull_header(queue_offset=1, max_msg_nums=-1))
    assert said(at_the_end) == (ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE")


def test_binary_request_gets_a_binary_answer(peer: Peer) -> None:
    send(peer)
    response = peer.ask(
        RequestCode.PULL_MESSAGE, pull_header(), serialize_type=SerializeType.ROCKETMQ
    )
    assert response.serialize_type is SerializeType.ROCKETMQ
    assert said(response) == (0, "FOUND")


def test_tags_select_by_hash(lab: BrokerLab, peer: Peer) -> None:
    for tag in ("a", "b", "", "a"):
        send(peer, tag)
    response = pull(peer, subscription="a || c")
    assert said(response) == (0, "FOUND")
    assert response.body.count(b"body") == 2
    assert lab.journal.find(Delivered)[0].offsets == (0, 3)
    # "Aa" and "BB" have one hash: the client compares the words.
    send(peer, "BB")
    assert said(pull(peer, 4, subscription="Aa")) == (0, "FOUND")


def test_subscription_in_class_filter_mode_matches_everything(lab: BrokerLab, peer: Peer) -> None:
    send(peer, "a")
    classes = subscription(expression="some.Filter", classFilterMode=True)
    beat(peer, consumers=[consumer_data(subscriptions=[classes])])
    assert said(pull(peer, sys_flag=HEARTBEAT_ONLY)) == (0, "FOUND")


# -- the checks, in Java's order --------------------------------------------------------------


def test_unreadable_broker_refuses_before_other_checks(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(broker_permission=2, auto_create_subscription_group=False))
    response = pull(lab.peer(broker.addr), topic="nothing", queue_id=99)
    assert said(response) == (16, "the broker[127.0.0.1] pulling message is forbidden")
    assert response.ext_fields == {}


def test_unknown_group_is_refused(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(auto_create_subscription_group=False))
    response = pull(lab.peer(broker.addr), topic="nothing")
    assert said(response) == (26, f"subscription group [billing] does not exist, {FAQ}")


def test_disabled_group_is_refused(broker: Broker, peer: Peer) -> None:
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP, consume_enable=False))
    response = pull(peer, topic="nothing")
    assert said(response) == (16, "subscription group no permission, billing")


def test_unknown_topic_is_refused(broker: Broker, peer: Peer) -> None:
    response = pull(peer, topic="nothing", queue_id=99)
    assert said(response) == (17, f"topic[nothing] not exist, apply first please! {FAQ}")
    assert broker.groups.snapshot()[GROUP].retry_max_times == 16  # created on the way


def test_unreadable_topic_is_refused(broker: Broker, peer: Peer) -> None:
    broker.create_topic("writeonly", 1, perm=2)
    response = pull(peer, topic="writeonly", queue_id=99)
    assert said(response) == (16, "the topic[writeonly] pulling message is forbidden")


@pytest.mark.parametrize(
    ("text", "expression_type"), [("||", "TAG"), ("", "SQL92"), (None, "SQL92"), ("", "")]
)
def test_invalid_subscription_is_refused(
    topic: str, peer: Peer, text: str | None, expression_type: str
) -> None:
    response = pull(peer, subscription=text, expression_type=expression_type)
    assert said(response) == (23, "parse the consumer's subscription failed")


def test_expression_that_does_not_compile_is_refused(topic: str, peer: Peer) -> None:
    refusal = (1, "The broker does not support consumer to filter message by XPATH")
    odd = subscription(expressionType="XPATH", subString="/a")
    assert said(pull(peer, subscription="/a", expression_type="XPATH")) == refusal
    beat(peer, consumers=[consumer_data(subscriptions=[odd])])
    assert said(pull(peer, sys_flag=HEARTBEAT_ONLY)) == (
        27,
        "The broker's consumer filter data is not exist!Your expression may be wrong!",
    )


# -- offsets that come with a pull ------------------------------------------------------------


COMMIT = PullSysFlag.SUBSCRIPTION | PullSysFlag.COMMIT_OFFSET


def committed(lab: BrokerLab) -> list[int]:
    return [event.offset for event in lab.journal.find(OffsetCommitted)]


def test_pull_commits_the_clients_offset(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    send(peer)
    pull(peer, 0, commit_offset=7)
    assert committed(lab) == []
    pull(peer, 0, sys_flag=COMMIT, commit_offset=7)
    assert committed(lab) == [7]
    assert broker.offsets.query(GROUP, TOPIC, 0) == 7


def test_pull_commits_with_any_answer_but_a_refusal(lab: BrokerLab, topic: str, peer: Peer) -> None:
    pull(peer, 0, sys_flag=COMMIT, commit_offset=1)  # 19
    pull(peer, 9, sys_flag=COMMIT, commit_offset=2)  # 21
    pull(peer, 0, sys_flag=COMMIT, commit_offset=3, queue_id=9)  # 1
    assert committed(lab) == [1, 2]


def test_held_pull_commits_once_on_arrival(lab: BrokerLab, topic: str, peer: Peer) -> None:
    answer = long_pull(peer, sys_flag=COMMIT | PullSysFlag.SUSPEND, commit_offset=4)
    assert committed(lab) == [4]
    assert lab.journal.find(PullHeld)
    send(peer)
    assert answer.response is not None
    assert committed(lab) == [4]


# -- slaves -----------------------------------------------------------------------------------


def slave(lab: BrokerLab, **config: bool) -> tuple[Broker, Peer]:
    """A broker that turned slave after it stored one message."""
    broker = lab.broker()
    peer = lab.peer(broker.addr)
    send(peer)
    broker.config.assign(config)
    broker.store.role.take("SLAVE")
    return broker, peer


def test_slave_corrects_no_offset(lab: BrokerLab) -> None:
    _, peer = slave(lab)
    response = pull(peer, 5)
    assert said(response) == (20, "OFFSET_OVERFLOW_BADLY")
    assert offsets(response)[0] == 5


def test_slave_corrects_offsets_when_configured(lab: BrokerLab) -> None:
    _, peer = slave(lab, offset_check_in_slave=True)
    response = pull(peer, 5)
    assert said(response) == (21, "OFFSET_OVERFLOW_BADLY")
    assert offsets(response)[0] == 1


def test_slave_commits_no_offset(lab: BrokerLab) -> None:
    _, peer = slave(lab)
    assert said(pull(peer, 0, sys_flag=COMMIT, commit_offset=1)) == (0, "FOUND")
    assert committed(lab) == []


def test_answer_suggests_the_broker_of_the_group_when_slaves_are_readable(lab: BrokerLab) -> None:
    broker, peer = slave(lab, slave_read_enable=True)
    broker.groups.update(
        SubscriptionGroupConfig(group_name=GROUP, broker_id=3, which_broker_when_consume_slowly=2)
    )
    assert pull(peer).ext_fields["suggestWhichBrokerId"] == "3"
    broker.store.ram_size_bytes = 0  # everything counts as far behind
    assert pull(peer).ext_fields["suggestWhichBrokerId"] == "2"


@pytest.mark.parametrize("absent", ["queueId", "queueOffset", "maxMsgNums"])
def test_unknown_topic_is_said_before_an_absent_field(peer: Peer, absent: str) -> None:
    fields = pull_header(topic="unknown").encode()
    del fields[absent]
    response = peer.ask(RequestCode.PULL_MESSAGE, ext_fields=fields)
    assert response.code == ResponseCode.TOPIC_NOT_EXIST
    del fields["sysFlag"]
    response = peer.ask(RequestCode.PULL_MESSAGE, ext_fields=fields)
    assert (response.remark or "").startswith("java.lang.NullPointerException: ")
    send(peer, "A")
    fields |= {"topic": TOPIC, "sysFlag": str(PullSysFlag.SUBSCRIPTION)}
    response = peer.ask(RequestCode.PULL_MESSAGE, ext_fields=fields)
    assert (response.remark or "").startswith("java.lang.NullPointerException: ")
