"""Pulls by expression, over the wire: results, refusals, wake-ups."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import Delivered
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import decode_records
from fakemq.protocol.properties import RETRY_TOPIC, encode_properties_as_java
from fakemq.protocol.subscription import build_subscription_data
from fakemq.protocol.sysflag import PullSysFlag
from fakemq.protocol.topics import retry_topic
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import (
    GROUP,
    TOPIC,
    code,
    long_pull,
    pull,
    sql_subscription,
    subscribe,
    subscription,
)
from tests.support.peer import Peer

HEARTBEAT_ONLY = 0


@pytest.fixture(params=[False, True], ids=["plain", "extended"])
def broker(lab: BrokerLab, request: pytest.FixtureRequest) -> Broker:
    """A broker whose queues have no extension, or one with the bits of filters."""
    extended: bool = request.param
    return lab.broker(
        BrokerConfig(
            enable_property_filter=True,
            enable_consume_queue_ext=extended,
            enable_calc_filter_bit_map=extended,
        )
    )


def send(peer: Peer, *, topic: str = TOPIC, **properties: str) -> None:
    header = send_header(topic, properties=encode_properties_as_java(properties))
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"body").code == 0


def places(response: RemotingCommand) -> list[int]:
    """The offsets of the messages in an answer."""
    return [message.queue_offset for message in decode_records(response.body)]


def pull_sql(peer: Peer, expression: str, offset: int = 0) -> RemotingCommand:
    return pull(peer, offset, subscription=expression, expression_type="SQL92")


def pull_by_heartbeat(peer: Peer, topic: str = TOPIC, version: int = 1) -> RemotingCommand:
    return pull(peer, topic=topic, sys_flag=HEARTBEAT_ONLY, sub_version=version)


def test_pull_by_expression_returns_matching_messages(lab: BrokerLab, peer: Peer) -> None:
    for a in ("3", "7", "x", "8"):
        send(peer, a=a)
    send(peer, b="7")
    response = pull_sql(peer, "a > 5")
    assert (response.code, response.remark) == (0, "FOUND")
    assert places(response) == [1, 3]
    assert response.ext_fields["nextBeginOffset"] == "5"
    assert lab.journal.find(Delivered)[0].offsets == (1, 3)
    assert places(pull_sql(peer, "a IS NULL OR a = '3'")) == [0, 4]
    response = pull_sql(peer, "a > 50")
    assert (response.code, response.remark) == (20, "NO_MATCHED_MESSAGE")


def test_system_properties_count_as_properties(peer: Peer) -> None:
    send(peer, TAGS="x", KEYS="one two")
    send(peer, TAGS="y", UNIQ_KEY="0" * 32)
    assert places(pull_sql(peer, "TAGS = 'x' AND KEYS = 'one two'")) == [0]
    assert places(pull_sql(peer, "UNIQ_KEY IS NOT NULL")) == [1]


@pytest.mark.parametrize("expression_type", ["SQL92", "XPATH"])
def test_every_message_matches_an_expression_that_does_not_compile(
    peer: Peer, expression_type: str
) -> None:
    send(peer, a="1")
    response = pull(peer, subscription="a >", expression_type=expression_type)
    assert places(response) == [0]


def test_pull_takes_the_expression_of_the_heartbeat(peer: Peer) -> None:
    send(peer, a="3")
    send(peer, a="7")
    assert pull_by_heartbeat(peer).code == 24
    subscribe(peer, sql_subscription("a > 5"))
    assert places(pull_by_heartbeat(peer)) == [1]
    assert pull_by_heartbeat(peer, version=2).code == 25


def test_pull_with_an_invalid_expression_has_no_filter_data(peer: Peer) -> None:
    send(peer, a="3")
    subscribe(peer, sql_subscription("a >"))
    response = pull_by_heartbeat(peer)
    assert (response.code, response.remark) == (
        27,
        "The broker's consumer filter data is not exist!Your expression may be wrong!",
    )


def test_pull_is_refused_when_filter_data_are_older_than_the_subscription(peer: Peer) -> None:
    send(peer, a="3")
    subscribe(peer, sql_subscription("a > 5", 1))
    subscribe(peer, sql_subscription("", 2))
    response = pull_by_heartbeat(peer, version=2)
    assert (response.code, response.remark) == (
        28,
        "the consumer's consumer filter data not latest",
    )


def test_pull_without_property_filters_looks_for_filter_data_first(lab: BrokerLab) -> None:
    broker = lab.broker()
    peer = lab.peer(broker.addr)
    broker.create_topic(TOPIC, 1)
    subscribe(peer, sql_subscription("a >"))
    assert pull_by_heartbeat(peer).code == 27
    subscribe(peer, sql_subscription("a > 5", 2))
    response = pull_by_heartbeat(peer, version=2)
    assert (response.code, response.remark) == (
        1,
        "The broker does not support consumer to filter message by SQL92",
    )


# -- held pulls -------------------------------------------------------------------------------


def test_held_pull_is_woken_by_matching_messages_only(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    broker.create_topic(TOPIC, 1)
    held = long_pull(peer, subscription="a > 5", expression_type="SQL92")
    sender = lab.peer(broker.addr, "sender")
    for a in ("3", "x"):
        send(sender, a=a)
        assert not held.over
    send(sender, a="7")
    assert held.response is not None
    assert places(held.response) == [2]


@pytest.mark.parametrize(
    ("expression", "properties", "wakes"),
    [("DELAY = '1'", {"DELAY": "1"}, True), ("WAIT = 'true'", {"WAIT": "true"}, False)],
)
def test_held_pull_matches_the_stored_properties(
    lab: BrokerLab,
    broker: Broker,
    peer: Peer,
    expression: str,
    properties: dict[str, str],
    wakes: bool,
) -> None:
    broker.create_topic(TOPIC, 1)
    held = long_pull(peer, subscription=expression, expression_type="SQL92")
    send(lab.peer(broker.addr, "sender"), **properties)
    lab.clock.advance("2s")
    assert broker.store.max_offset_in_queue(TOPIC, 0) == 1
    assert held.over is wakes


def test_held_pull_skips_unmatched_messages_at_the_next_check(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    broker.create_topic(TOPIC, 1)
    held = long_pull(peer, subscription="a > 5", expression_type="SQL92")
    send(lab.peer(broker.addr, "sender"), a="3")
    lab.clock.advance(4.999)
    assert not held.over
    lab.clock.advance(0.001)
    assert held.response is not None
    assert (held.response.code, held.response.remark) == (20, "NO_MATCHED_MESSAGE")
    assert held.response.ext_fields["nextBeginOffset"] == "1"


def test_reset_keeps_the_filter_of_a_waiting_consumer(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    send(peer, a="7")
    subscribe(peer, sql_subscription("a > 5"))
    flags = PullSysFlag.SUSPEND
    long_pull(peer, 1, sys_flag=flags, sub_version=1)
    broker.reset()
    broker.create_topic(TOPIC, 1)
    held = long_pull(peer, sys_flag=flags, sub_version=1)
    sender = lab.peer(broker.addr, "sender")
    send(sender, a="3")
    assert not held.over
    send(sender, a="7")
    assert code(held) == 0


# -- retries ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("support", "found"), [(False, [0, 1, 2, 3, 4]), (True, [0, 3, 4])])
def test_retries_are_matched_by_the_filter_of_their_original_topic(
    lab: BrokerLab, support: bool, found: list[int]
) -> None:
    broker = lab.broker(BrokerConfig(enable_property_filter=True, filter_support_retry=support))
    peer = lab.peer(broker.addr)
    subscribe(peer, sql_subscription("a > 5"), subscription(retry_topic(GROUP)))
    for a, topic in (("7", TOPIC), ("3", TOPIC), ("x", TOPIC), ("3", "bills")):
        send(peer, topic=retry_topic(GROUP), a=a, **{RETRY_TOPIC: topic})
    send(peer, topic=retry_topic(GROUP), a="3")
    assert places(pull_by_heartbeat(peer, retry_topic(GROUP))) == found


def test_retries_are_matched_by_tags_first(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(filter_support_retry=True))
    peer = lab.peer(broker.addr)
    subscribe(peer, sql_subscription("a > 5"))
    topic = retry_topic(GROUP)
    send(peer, topic=topic, a="7", TAGS="x", **{RETRY_TOPIC: TOPIC})
    send(peer, topic=topic, a="7", TAGS="y", **{RETRY_TOPIC: TOPIC})
    send(peer, topic=topic, a="3", TAGS="y", **{RETRY_TOPIC: TOPIC})
    assert places(pull(peer, topic=topic, subscription="y")) == [1]


# -- tags -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, [0]),
        ({"codeSet": build_subscription_data("", "b").code_set}, [1]),
        ({"classFilterMode": True}, [0, 1, 2]),
        ({"subString": "*"}, [0, 1, 2]),
    ],
    ids=["as it is", "hashes", "a class", "everything"],
)
def test_heartbeat_tags_are_matched_by_their_hashes(
    peer: Peer, fields: dict[str, object], found: list[int]
) -> None:
    for tags in ("a", "b", "c"):
        send(peer, TAGS=tags)
    subscribe(peer, subscription(expression="a") | fields)
    assert places(pull_by_heartbeat(peer)) == found


def test_class_flag_of_a_pull_is_ignored(peer: Peer) -> None:
    send(peer, TAGS="a")
    send(peer, TAGS="b")
    flags = PullSysFlag.SUBSCRIPTION | PullSysFlag.CLASS_FILTER
    assert places(pull(peer, subscription="b", sys_flag=flags)) == [1]
