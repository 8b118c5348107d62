"""gRPC clients in the laboratory's terms: holders of messages, biographies, reasons, members."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import fakemq
from fakemq.biographies import steps
from fakemq.protocol.grpc import messages as m
from tests.support.grpc_caller import Caller
from tests.support.proxy_lab import handle_of, message, resource

START = "2024-02-29T12:00:00Z"


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        grpc=True, clock="frozen", start_at=START, topics={"normal": 1, "tx": 1}
    ) as cluster:
        cluster.topic("tx").message_type = "TRANSACTION"
        cluster.group("g").set(retry_max_times=16)
        yield cluster


@pytest.fixture
def pusher(mq: fakemq.Cluster) -> Caller:
    caller = Caller(mq, "worker@1")
    caller(lambda client: client.consume("g", push=True))
    return caller


def lines(mq: fakemq.Cluster, topic: str = "normal") -> list[str]:
    (found,) = mq.messages(topic)
    return [line.strip() for line in re.sub(r"\(.*?\)", "()", str(found.biography)).splitlines()][
        1:
    ]


def received(caller: Caller, **fields: Any) -> Any:
    asked = caller(lambda client: client.receive(auto_renew=True, **fields))
    (one,) = asked.received
    return one


def test_biography_names_clients_renewals_and_acknowledgement(
    mq: fakemq.Cluster, pusher: Caller
) -> None:
    sender = Caller(mq, "shop@1")
    sender(lambda client: client.produce("normal"))
    sender(lambda client: client.send(message(id="m1")))
    one = received(pusher)
    mq.clock.advance_to_next("grpc_renew")
    pusher(lambda client: client.ack(handle_of(one)))
    found = lines(mq)
    assert found[0].startswith("12:00:00.000 stored in normal broker-a-0/0@0, sent by shop@1 ()")
    assert "popped" in found[2]
    assert "g@worker@1" in found[2]
    (changed,) = mq.messages("normal")[0].biography.of(steps.InvisibleTimeChanged)
    assert (changed.client_id, changed.by_front) == ("worker@1", "renewed")
    assert "for g@worker@1 by the front, renewed: until" in str(changed)
    (acked,) = mq.messages("normal")[0].biography.of(steps.PopAcknowledged)
    assert acked.client_id == "worker@1"


def test_message_that_is_out_names_its_client(mq: fakemq.Cluster, pusher: Caller) -> None:
    mq.seed("normal", ["one"])
    received(pusher, attempt_id="a1")
    (out,) = mq.group("g").inflight()
    assert (out.client_id, out.attempt, out.attempt_id) == ("worker@1", 1, "a1")
    assert out.visible_at_ms == mq.clock.now_ms() + 60_000
    assert "held by worker@1" in "\n".join(mq.diagnosis("normal", "g"))


def test_client_changes_the_time_itself(mq: fakemq.Cluster, pusher: Caller) -> None:
    mq.seed("normal", ["one"])
    one = received(pusher)
    pusher(lambda client: client.change(handle_of(one), 10))
    (changed,) = mq.messages("normal")[0].biography.of(steps.InvisibleTimeChanged)
    assert (changed.client_id, changed.by_front) == ("worker@1", "")


def test_acknowledgement_with_an_old_handle_has_no_effect(mq: fakemq.Cluster) -> None:
    simple = Caller(mq, "worker@2")
    simple(lambda client: client.consume("g"))
    mq.seed("normal", ["one"])
    (one,) = simple(lambda client: client.receive(invisible_s=30)).received
    simple(lambda client: client.change(handle_of(one), 60))
    simple(lambda client: client.ack(handle_of(one)))
    (acked,) = mq.messages("normal")[0].biography.of(steps.PopAcknowledged)
    assert "with a handle that no longer counts (its invisible time was changed at" in str(acked)
    with pytest.raises(AssertionError, match="has no effect: a handle that no longer counts"):
        mq.assert_consumed("normal", "g")


def test_front_is_said_to_drop_a_tag_with_the_same_hash(mq: fakemq.Cluster) -> None:
    simple = Caller(mq, "worker@2")
    simple(lambda client: client.consume("g"))
    mq.seed("normal", ["one"], tags="BB")
    wanted = m.FilterExpression(type=m.FilterType.TAG, expression="Aa")
    assert simple(lambda client: client.receive(filter_expression=wanted)).received == []
    (dropped,) = mq.messages("normal")[0].biography.of(steps.Dropped)
    lacks = "whose subscription 'Aa' does not have the tag 'BB' (same hash as 'Aa')"
    assert str(dropped).endswith(f"{lacks}: the front drops it")
    with pytest.raises(AssertionError) as failed:
        mq.assert_consumed("normal", "g")
    assert f"delivered to g, {lacks}: the front drops it" in str(failed.value)


def test_message_of_a_client_that_left_is_changed_by_the_front(
    mq: fakemq.Cluster, pusher: Caller
) -> None:
    mq.seed("normal", ["one"])
    received(pusher)
    request = m.NotifyClientTerminationRequest(group=resource("g"))
    pusher(lambda client: client.ask("NotifyClientTermination", request))
    (changed,) = mq.messages("normal")[0].biography.of(steps.InvisibleTimeChanged)
    assert (changed.client_id, changed.by_front) == ("worker@1", "client left")
    assert mq.group("g").members() == []


def test_dead_letter_names_its_client(mq: fakemq.Cluster, pusher: Caller) -> None:
    mq.seed("normal", ["one"])
    one = received(pusher)
    request = m.ForwardMessageToDeadLetterQueueRequest(
        group=resource("g"),
        topic=resource("normal"),
        receipt_handle=handle_of(one),
        message_id=one.system_properties.message_id,
    )
    pusher(lambda client: client.ask("ForwardMessageToDeadLetterQueue", request))
    (dead,) = mq.messages("normal")[0].biography.of(steps.DeadLettered)
    assert dead.because == "forwarded by worker@1"
    mq.assert_in_dlq("g", 1)


def test_check_of_a_transaction_names_the_producer(mq: fakemq.Cluster) -> None:
    sender = Caller(mq, "shop@1")
    sender(lambda client: client.produce("tx"))
    sender(
        lambda client: client.send(message("tx", id="m1", message_type=m.MessageType.TRANSACTION))
    )
    mq.clock.advance("70s")
    *_, command = [
        one.recover_orphaned_transaction_command
        for call in sender.client.connection.calls
        for one in (call.answers if call.call.rpc.name == "Telemetry" else ())
        if one.WhichOneof("command") == "recover_orphaned_transaction_command"
    ]
    end = m.EndTransactionRequest(
        topic=resource("tx"),
        message_id="m1",
        transaction_id=command.transaction_id,
        resolution=m.TransactionResolution.COMMIT,
        source=m.TransactionSource.SOURCE_SERVER_CHECK,
    )
    sender(lambda client: client.ask("EndTransaction", end))
    checked = mq.messages("tx")[0].biography.of(steps.Checked)
    assert {one.client_id for one in checked} == {"shop@1"}
    assert "asked shop@1" in str(checked[0])
    (committed,) = mq.messages("tx")[0].biography.of(steps.Committed)
    assert committed.from_check


def test_group_knows_its_grpc_members(mq: fakemq.Cluster, pusher: Caller) -> None:
    (member,) = mq.group("g").members()
    assert (member.client_id, member.peer) == ("worker@1", pusher.client.connection.remote_addr)
    assert repr(mq.group("g")) == "<group g, 1 member>"
    mq.seed("normal", ["one"])
    assert "no member of group g has received it" in "\n".join(mq.diagnosis("normal", "g"))


def test_assertions_know_what_grpc_clients_consumed(mq: fakemq.Cluster, pusher: Caller) -> None:
    mq.seed("normal", ["one"])
    one = received(pusher)
    with pytest.raises(AssertionError, match="worker@1"):
        mq.assert_consumed("normal", "g")
    pusher(lambda client: client.ack(handle_of(one)))
    mq.assert_consumed("normal", "g")
