"""EndTransaction and RecallMessage: what becomes of messages that wait."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.events.grpc import OrphanAsked
from fakemq.protocol.grpc import messages as m
from tests.support.proxy_lab import Asked, FrontClient, ProxyLab, message, resource

START_S = 1_767_225_600
COMMIT, ROLLBACK = m.TransactionResolution.COMMIT, m.TransactionResolution.ROLLBACK
_EXCEPTION = "org.apache.rocketmq.proxy.common.ProxyException: "


@pytest.fixture
def client(lab: ProxyLab) -> FrontClient:
    return lab.client()


def begin(client: FrontClient, id: str = "t1", **system: Any) -> Asked:
    return client.send(message("tx", id=id, message_type=m.MessageType.TRANSACTION, **system))


def end(client: FrontClient, resolution: Any = COMMIT, id: str = "t1", topic: str = "tx") -> Asked:
    request = m.EndTransactionRequest(
        topic=resource(topic), message_id=id, transaction_id=id, resolution=resolution
    )
    return client.ask("EndTransaction", request)


def count(lab: ProxyLab, topic: str = "tx") -> int:
    return sum(lab.broker.store.max_offset_in_queue(topic, queue) for queue in range(4))


def test_committed_message_is_in_its_topic(lab: ProxyLab, client: FrontClient) -> None:
    begin(client)
    asked = end(client)
    assert (asked.code, asked.message) == (20000, "OK")
    assert count(lab) == 1


def test_rolled_back_message_never_is(lab: ProxyLab, client: FrontClient) -> None:
    begin(client)
    assert end(client, ROLLBACK).code == 20000
    lab.core.advance(600_000)
    assert count(lab) == 0


def test_id_is_good_for_one_end(client: FrontClient) -> None:
    begin(client)
    end(client)
    asked = end(client)
    assert (asked.code, asked.message) == (
        50001,
        f"{_EXCEPTION}cannot found transaction data",
    )


def test_id_is_known_for_30_s(lab: ProxyLab, client: FrontClient) -> None:
    begin(client)
    begin(client, "t2")
    lab.core.advance(30_000)
    assert end(client).code == 20000
    lab.core.advance_to_next("grpc_transaction_data")
    assert end(client, id="t2").code == 50001


@pytest.mark.parametrize(
    ("id", "topic", "code", "text"),
    [
        ("", "tx", 40008, "transaction id cannot be empty"),
        ("t", "", 40002, "The specified topic is blank"),
        ("t", "tx", 50001, f"{_EXCEPTION}cannot found transaction data"),
    ],
)
def test_wrong_ends_are_refused(
    client: FrontClient, id: str, topic: str, code: int, text: str
) -> None:
    asked = end(client, id=id, topic=topic)
    assert (asked.code, asked.message) == (code, text)


def test_orphan_is_asked_for_and_committed(lab: ProxyLab, client: FrontClient) -> None:
    stream = client.produce("tx")
    begin(client, user={"a": "b"})
    lab.core.advance(120_000)
    commands = [
        one.recover_orphaned_transaction_command
        for one in stream.answers
        if one.WhichOneof("command") == "recover_orphaned_transaction_command"
    ]
    assert commands[0].transaction_id == "t1"
    asked_for = commands[0].message
    assert (asked_for.topic.name, asked_for.body) == ("tx", b"x")
    assert asked_for.user_properties["a"] == "b"
    assert [one for one in lab.core.journal if isinstance(one.event, OrphanAsked)]
    assert end(client).code == 20000
    assert count(lab) == 1


def test_orphan_of_a_silent_client_is_not_asked_for(lab: ProxyLab, client: FrontClient) -> None:
    stream = client.produce("tx")
    begin(client)
    stream.cancel()
    lab.core.advance(120_000)
    assert len(stream.answers) == 1  # the settings


# -- recall -----------------------------------------------------------------------------------


def later(client: FrontClient, topic: str = "delay") -> str:
    """The handle of a message that comes in a minute."""
    at = m.Timestamp(seconds=START_S + 60)
    asked = client.send(message(topic, id="d1", delivery_timestamp=at))
    return str(asked.answer.entries[0].recall_handle)


def recall(client: FrontClient, handle: str, topic: str = "delay") -> Asked:
    request = m.RecallMessageRequest(topic=resource(topic), recall_handle=handle)
    return client.ask("RecallMessage", request)


def test_recalled_message_does_not_come(lab: ProxyLab, client: FrontClient) -> None:
    asked = recall(client, later(client))
    assert (asked.code, asked.answer.message_id) == (20000, "d1")
    lab.core.advance(120_000)
    assert count(lab, "delay") == 0


def test_wrong_recalls_are_refused(client: FrontClient) -> None:
    handle = later(client)
    types = (
        f"{_EXCEPTION}TopicMessageType validate failed, the expected type is {{}},"
        " but actual type is DELAY"
    )
    for topic, given, code, text in (
        ("normal", handle, 40014, types.format("NORMAL")),
        ("unknown", handle, 40014, types.format("UNSPECIFIED")),
        ("delay", "xx", 50001, f"{_EXCEPTION}recall handle is invalid"),
        ("delay", "", 50001, f"{_EXCEPTION}recall handle is invalid"),
        ("mixed", handle, 50001, "recall failed, topic not match"),
    ):
        asked = recall(client, given, topic)
        assert (asked.code, asked.message) == (code, text)
