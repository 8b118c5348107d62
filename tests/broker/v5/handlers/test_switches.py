"""Requests that the config of a broker of 5.5.0 forbids, and what else its keys do."""

from __future__ import annotations

import json

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import BrokerConfig5
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import GROUP, TOPIC, consumer_data, pull_header, send
from tests.support.peer import Peer


def broker_with(lab: BrokerLab, **config: object) -> tuple[Broker, Peer]:
    broker = lab.broker(BrokerConfig5(**config), reference=REFERENCE)  # type: ignore[arg-type]
    broker.create_topic(TOPIC, 1)
    return broker, lab.peer(broker.addr)


def beat(peer: Peer, how: str, *producers: str) -> None:
    heartbeat = {
        "clientID": "client-1",
        "consumerDataSet": [consumer_data() | {"consumeType": how}],
        "producerDataSet": [{"groupName": group} for group in producers],
    }
    answer = peer.ask(RequestCode.HEART_BEAT, body=json.dumps(heartbeat).encode())
    assert answer.code == ResponseCode.SUCCESS


# -- rejectPullConsumerEnable -------------------------------------------------------------------


def test_consumer_that_pulls_by_itself_is_rejected(lab: BrokerLab) -> None:
    broker, peer = broker_with(lab, reject_pull_consumer_enable=True)
    beat(peer, "CONSUME_ACTIVELY")
    assert broker.consumers.group(GROUP) is None
    send(peer)
    answer = peer.ask(RequestCode.PULL_MESSAGE, pull_header(0, sys_flag=4))
    assert answer.code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    assert answer.remark == (
        "the consumer's group info not exist, or the pull consumer is rejected by server."
        "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
    )


def test_consumer_that_is_pushed_to_is_not_rejected(lab: BrokerLab) -> None:
    _, peer = broker_with(lab, reject_pull_consumer_enable=True)
    beat(peer, "CONSUME_PASSIVELY")
    send(peer)
    assert peer.ask(RequestCode.PULL_MESSAGE, pull_header(0)).code == ResponseCode.SUCCESS


@pytest.mark.parametrize("group", ["TOOLS_CONSUMER", "CID_RMQ_SYS_X"])
def test_groups_of_the_system_are_not_rejected(lab: BrokerLab, group: str) -> None:
    _, peer = broker_with(lab, reject_pull_consumer_enable=True)
    send(peer)
    header = pull_header(0, sys_flag=4)
    header.consumer_group = group
    assert peer.ask(RequestCode.PULL_MESSAGE, header).code == ResponseCode.SUCCESS


def test_topic_that_does_not_exist_is_refused_first(lab: BrokerLab) -> None:
    broker, peer = broker_with(lab, reject_pull_consumer_enable=True)
    broker.delete_topic(TOPIC)
    answer = peer.ask(RequestCode.PULL_MESSAGE, pull_header(0, sys_flag=4))
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST


# -- groups and producers -----------------------------------------------------------------------


@pytest.mark.parametrize(("enabled", "code"), [(True, 0), (False, 26)])
def test_groups_of_the_system_may_be_created_without_auto_create(
    lab: BrokerLab, enabled: bool, code: int
) -> None:
    _, peer = broker_with(
        lab, auto_create_subscription_group=False, enable_create_sys_group=enabled
    )
    send(peer)
    header = pull_header(0, sys_flag=4)
    header.consumer_group = "CID_RMQ_SYS_X"
    assert peer.ask(RequestCode.PULL_MESSAGE, header).code == code


@pytest.mark.parametrize(
    ("register", "reject", "there"),
    [(True, True, True), (False, False, True), (False, True, False)],
)
def test_producers_are_registered_unless_that_is_off_without_transactions(
    lab: BrokerLab, register: bool, reject: bool, there: bool
) -> None:
    broker, peer = broker_with(
        lab, enable_register_producer=register, reject_transaction_message=reject
    )
    beat(peer, "CONSUME_PASSIVELY", "producers")
    assert ("producers" in broker.producers.snapshot()) is there


def test_producer_that_is_registered_stays(lab: BrokerLab) -> None:
    broker, peer = broker_with(lab, reject_transaction_message=True)
    beat(peer, "CONSUME_PASSIVELY", "producers")
    broker.config.set_property("enableRegisterProducer", "false")
    beat(peer, "CONSUME_PASSIVELY", "producers", "others")
    assert set(broker.producers.snapshot()) == {"producers"}


@pytest.mark.parametrize(("timeout_ms", "gone_s"), [(20_000, 30), (60_000, 70), (1, 10)])
def test_silent_consumer_is_gone_after_its_time(
    lab: BrokerLab, timeout_ms: int, gone_s: int
) -> None:
    broker, peer = broker_with(lab, channel_expired_timeout=timeout_ms)
    beat(peer, "CONSUME_PASSIVELY", "producers")
    lab.pass_time(gone_s * 1_000 - 1)
    peer.ask(RequestCode.GET_BROKER_CONFIG)  # the connection is not idle
    assert broker.consumers.group(GROUP) is not None
    lab.pass_time(1)
    assert broker.consumers.group(GROUP) is None
    assert peer.closed


# -- limits and files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size_bytes", "looked_at"), [(100, 5), (16_000, 8), (-1, 1), (0, 1), (1 << 30, 8)]
)
def test_filter_looks_at_as_many_entries_as_the_config_says(
    lab: BrokerLab, size_bytes: int, looked_at: int
) -> None:
    _, peer = broker_with(lab, max_filter_message_size=size_bytes)
    for _ in range(8):
        send(peer)
    header = pull_header(0, sys_flag=4)
    header.max_msg_nums, header.subscription = 1, "no-such-tag"
    answer = peer.ask(RequestCode.PULL_MESSAGE, header)
    assert answer.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert answer.ext_fields["nextBeginOffset"] == str(looked_at)


@pytest.mark.parametrize(("read", "code"), [(True, 0), (False, 22)])
def test_messages_are_found_by_key_unless_the_index_is_not_read(
    lab: BrokerLab, read: bool, code: int
) -> None:
    _, peer = broker_with(lab, index_file_read_enable=read)
    header = send_header(TOPIC, properties="KEYS\x01k\x02", queue_id=0)
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"body").code == ResponseCode.SUCCESS
    now_ms = lab.clock.now_ms()
    answer = peer.ask(
        RequestCode.QUERY_MESSAGE,
        ext_fields={
            "topic": TOPIC,
            "key": "k",
            "maxNum": "8",
            "beginTimestamp": "0",
            "endTimestamp": str(now_ms + 1),
        },
    )
    assert answer.code == code
