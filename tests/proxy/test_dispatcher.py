"""What all RPCs have in common: who must say what, and what becomes of errors."""

from __future__ import annotations

import pytest

from fakemq.events.grpc import RpcHandled, RpcReceived
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.grpc.table import BY_NAME
from fakemq.proxy import codes
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
    assert dict(m.Code.items()) == {code.name: code.value for code in codes.Code}


def test_every_rpc_has_a_handler_or_is_one_of_those_that_pull(lab: ProxyLab) -> None:
    from fakemq.proxy.registry import find

    missing = {rpc for rpc in BY_NAME if find(rpc) is None}
    assert missing == {"PullMessage", "UpdateOffset", "GetOffset", "QueryOffset"}


@pytest.mark.parametrize("rpc", sorted(BY_NAME))
def test_empty_request_is_answered(lab: ProxyLab, rpc: str) -> None:
    lab.client().consume()
    asked = lab.client().ask(rpc, BY_NAME[rpc].request())
    assert asked.status is not None or rpc == "Telemetry"


def test_unknown_client_that_terminates_is_told_so(lab: ProxyLab) -> None:
    request = m.NotifyClientTerminationRequest(group=resource("g"))
    assert lab.client().ask("NotifyClientTermination", request).code == 40015
