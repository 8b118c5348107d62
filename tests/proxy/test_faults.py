"""What faults of RPCs do to calls, and to the answers of calls."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.events import FaultHit
from fakemq.faults.plan import ALWAYS, ONCE, Point, Scope, When
from fakemq.faults.points import BEFORE_RPC, BEFORE_RPC_REPLY
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.proxy.faults import (
    AnswerStatus,
    DelayRpc,
    DropRpc,
    EndWithStatus,
    GoAway,
    LeaveOpen,
    ResetRpc,
    RpcFault,
)
from fakemq.proxy.status import Code
from tests.support.proxy_lab import ProxyLab, handle_of, message


def place(
    lab: ProxyLab, point: Point[Any], action: RpcFault, rpc: str, when: When = ONCE, **scope: Any
) -> Any:
    return lab.core.faults.place(point, action, "a fault", Scope(rpc=rpc, **scope), when)


def test_answered_send_stores_nothing(lab: ProxyLab) -> None:
    place(lab, BEFORE_RPC, AnswerStatus(Code.TOO_MANY_REQUESTS, "busy"), "SendMessage")
    client = lab.client()
    refused = client.send(message())
    assert (refused.code, refused.message) == (Code.TOO_MANY_REQUESTS, "busy")
    assert refused.status is GrpcStatus.OK
    client.consume()
    assert client.receive(timeout_ms=6_000).received == []
    assert client.send(message()).code == Code.OK


def test_answer_of_a_stored_message_changes_to_a_status(lab: ProxyLab) -> None:
    place(lab, BEFORE_RPC_REPLY, AnswerStatus(Code.INTERNAL_ERROR, "no"), "SendMessage")
    client = lab.client()
    assert client.send(message()).code == Code.INTERNAL_ERROR
    client.consume()
    assert len(client.receive().received) == 1


def test_call_ends_with_a_status_of_grpc(lab: ProxyLab) -> None:
    place(lab, BEFORE_RPC, EndWithStatus(GrpcStatus.UNAVAILABLE, "gone"), "SendMessage")
    asked = lab.client().send(message())
    assert (asked.status, asked.text, asked.answers) == (GrpcStatus.UNAVAILABLE, "gone", [])


def test_delayed_send_is_stored_later_although_its_caller_has_gone(lab: ProxyLab) -> None:
    place(lab, BEFORE_RPC, DelayRpc(3_000), "SendMessage")
    client = lab.client()
    sent = client.send(message())
    sent.cancel()
    client.consume()
    waiting = client.receive()
    assert waiting.received == []
    lab.core.clock.advance("3s")
    assert len(waiting.received) == 1
    assert sent.answers == []


def test_delayed_receive_takes_nothing_for_a_caller_that_has_gone(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    client.send(message())
    place(lab, BEFORE_RPC, DelayRpc(3_000), "ReceiveMessage")
    client.receive().cancel()
    lab.core.clock.advance("3s")
    assert len(client.receive().received) == 1


def test_late_answer_keeps_its_order(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    client.send(message())
    place(lab, BEFORE_RPC_REPLY, DelayRpc(2_000), "ReceiveMessage")
    receive = client.receive()
    assert receive.answers == []
    lab.core.clock.advance("2s")
    kinds = [one.WhichOneof("content") for one in receive.answers]
    assert kinds == ["status", "message", "delivery_timestamp"]
    assert receive.status is GrpcStatus.OK


def test_lost_answer_of_a_receive_leaves_the_messages_invisible(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    client.send(message())
    place(lab, BEFORE_RPC_REPLY, DropRpc(), "ReceiveMessage", group="g")
    lost = client.receive(invisible_s=10)
    assert (lost.answers, lost.status) == ([], None)
    lost.cancel()
    again = client.receive()
    assert again.received == []
    lab.core.clock.advance("13s")
    (received,) = again.received
    assert received.system_properties.delivery_attempt == 2


def test_answer_that_is_left_open_has_its_messages_and_no_end(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    client.send(message())
    place(lab, BEFORE_RPC_REPLY, LeaveOpen(), "ReceiveMessage")
    receive = client.receive()
    assert len(receive.received) == 1
    assert receive.status is None
    assert client.ack(handle_of(receive.received[0])).code == Code.OK


def test_reset_call_has_the_code_of_the_fault(lab: ProxyLab) -> None:
    place(lab, BEFORE_RPC, ResetRpc(7), "SendMessage")
    sent = lab.client().send(message())
    assert (sent.reset_code, sent.answers) == (7, [])


def test_goaway_closes_the_connection(lab: ProxyLab) -> None:
    place(lab, BEFORE_RPC, GoAway(), "SendMessage")
    client = lab.client()
    client.send(message())
    assert client.connection.closed


@pytest.mark.parametrize(
    "scope",
    [{"topic": "other"}, {"client": "c2"}, {"rpc": "AckMessage"}],
    ids=["topic", "client", "RPC"],
)
def test_fault_spares_other_calls(lab: ProxyLab, scope: dict[str, Any]) -> None:
    scope.setdefault("rpc", "SendMessage")
    place(lab, BEFORE_RPC, AnswerStatus(Code.FORBIDDEN, "no"), **scope)
    assert lab.client("c1").send(message()).code == Code.OK


def test_hit_names_rpc_and_caller(lab: ProxyLab) -> None:
    place(lab, BEFORE_RPC, DropRpc(), "SendMessage", client="c1")
    lab.client("c1").send(message())
    (hit,) = lab.core.journal.find(FaultHit)
    assert (hit.node, hit.on) == ("proxy-0", "SendMessage of 10.0.0.9:4002")


def test_dead_telemetry_sends_nothing_until_the_fault_is_removed(lab: ProxyLab) -> None:
    fault = place(lab, BEFORE_RPC_REPLY, DropRpc(), "Telemetry", ALWAYS)
    client = lab.client()
    stream = client.produce("normal")
    assert (stream.answers, stream.status) == ([], None)
    fault.remove()
    assert client.produce("normal").answers[0].settings.publishing.topics[0].name == "normal"


def test_dead_telemetry_loses_what_the_front_sends_on_an_open_stream(lab: ProxyLab) -> None:
    client = lab.client()
    stream = client.produce("tx")
    assert len(stream.answers) == 1
    client.send(message("tx", message_type=4))
    fault = place(lab, BEFORE_RPC_REPLY, DropRpc(), "Telemetry", ALWAYS, client="c1")
    lab.core.clock.advance("60s")
    assert len(stream.answers) == 1
    assert fault.fired >= 1
    fault.remove()
    lab.core.clock.advance("60s")
    assert stream.answers[1].HasField("recover_orphaned_transaction_command")
