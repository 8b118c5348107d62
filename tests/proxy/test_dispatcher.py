"""What all RPCs have in common: what clients must say, and what becomes of errors."""

from __future__ import annotations

import pytest

from fakemq.events.grpc import RpcHandled, RpcReceived
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.grpc.table import BY_NAME
from fakemq.proxy import status
from tests.support.proxy_lab import ProxyLab, message, resource


@pytest.mark.parametrize("client_id", ["", " "])
def test_call_without_a_client_id_is_refused(lab: ProxyLab, client_id: str) -> None:
    asked = lab.client(client_id).send(message())
    assert (asked.code, asked.message) == (40017, "client id cannot be empty")


@pytest.mark.parametrize("rpc", ["PullMessage", "UpdateOffset", "GetOffset", "QueryOffset"])
def test_rpcs_that_pull_are_unimplemented(lab: ProxyLab, rpc: str) -> None:
    asked = lab.client("").ask(rpc, BY_NAME[rpc].request())
    assert asked.status is GrpcStatus.UNIMPLEMENTED
    assert asked.text == f"Method apache.rocketmq.v2.MessagingService/{rpc} is unimplemented"
    assert not asked.answers


def test_journal_has_the_rpc_and_the_requests_that_it_caused(lab: ProxyLab) -> None:
    lab.client().send(message())
    entries = list(lab.core.journal)
    (received,) = [one for one in entries if isinstance(one.event, RpcReceived)]
    (handled,) = [one for one in entries if isinstance(one.event, RpcHandled)]
    asked = {one.cause for one in entries if getattr(one.event, "opaque", 0)}
    where = {"node": "proxy-0", "peer": "10.0.0.9:4002", "client_id": "c1"}
    assert received.event == RpcReceived(rpc="SendMessage", **where)
    assert handled.event == RpcHandled(rpc="SendMessage", status="OK", **where)
    assert handled.cause == received.seq
    assert received.seq in asked


def test_codes_are_those_of_the_definition() -> None:
    assert dict(m.Code.items()) == {code.name: code.value for code in status.Code}


def test_every_rpc_has_a_handler_or_is_one_of_those_that_pull(lab: ProxyLab) -> None:
    from fakemq.proxy.registry import find

    missing = {rpc for rpc in BY_NAME if find(rpc) is None}
    assert missing == {"PullMessage", "UpdateOffset", "GetOffset", "QueryOffset"}


@pytest.mark.parametrize("rpc", sorted(BY_NAME))
def test_empty_request_is_answered(lab: ProxyLab, rpc: str) -> None:
    lab.client().consume()
    asked = lab.client().ask(rpc, BY_NAME[rpc].request())
    assert asked.status is not None or rpc == "Telemetry"


def test_unknown_client_that_terminates_is_refused(lab: ProxyLab) -> None:
    request = m.NotifyClientTerminationRequest(group=resource("g"))
    assert lab.client().ask("NotifyClientTermination", request).code == 40015


def test_request_with_too_many_entries_is_refused(lab: ProxyLab) -> None:
    client = lab.client()
    handles = m.AckMessageRequest(
        topic=resource("normal"),
        group=resource("g"),
        entries=[m.AckMessageEntry()] * 10_001,
    )
    text = "fakemq takes no more than 10000 {} at once"
    asked = client.ask("AckMessage", handles)
    assert (asked.code, asked.message) == (40000, text.format("handles"))
    sent = client.send(*[message()] * 10_001)
    assert (sent.code, sent.message) == (40000, text.format("messages"))


@pytest.mark.parametrize("outside", [False, True])
def test_request_with_many_entries_is_done_in_slices(lab: ProxyLab, outside: bool) -> None:
    client = lab.client(outside=outside)
    assert client.send(*[message(id=f"m{number}") for number in range(60)]).code == 20000
    client.consume()
    handles = [
        one.system_properties.receipt_handle
        for _ in range(2)
        for one in client.receive(most=32).received
    ]
    assert len(handles) == 60
    asked = client.ack(*handles)
    assert (asked.code, len(asked.answer.entries)) == (20000, 60)


def test_settings_of_all_clients_have_a_limit(
    lab: ProxyLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fakemq.proxy.settings.HELD_MAX_BYTES", 1_000)
    for number in range(100):
        lab.client(f"c{number}").produce("normal")
    assert lab.proxy.settings.raw("c0") is None
    assert lab.proxy.settings.raw("c99") is not None


def test_bodies_that_are_not_read_have_a_limit(
    lab: ProxyLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fakemq.proxy.rpcs.receive_message.UNREAD_MAX_BYTES", 25)
    client = lab.client()
    client.consume()
    held = client.receive("prio")
    held.blocked = True
    client.send(*[message("prio", b"x" * 10, id=f"m{number}", priority=0) for number in range(3)])
    assert held.status is GrpcStatus.OK  # it was given back
    lab.core.advance(5_000)
    assert len(client.receive("prio").received) == 3
    assert lab.proxy.unwritten_bytes == 0
