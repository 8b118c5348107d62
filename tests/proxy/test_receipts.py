"""Messages whose invisible time the front prolongs, while a prolongation is under way.

A broker that is paused holds the request of the front until it is resumed.
"""

from __future__ import annotations

import pytest

from fakemq.dispatch.faults import Delay
from fakemq.events.core import RequestReceived
from fakemq.events.grpc import HandleRenewed, RpcReceived
from fakemq.faults.plan import ONCE, Scope
from fakemq.faults.points import BEFORE_REPLY
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.proxy.receipts import AUTO_INVISIBLE_MS, CLEAR_INVISIBLE_MS
from tests.support.proxy_lab import Asked, FrontClient, ProxyLab, handle_of, message, resource


@pytest.fixture
def push(lab: ProxyLab) -> FrontClient:
    client = lab.client("push", outside=True)
    client.consume(push=True)
    client.send(message())
    return client


def received(client: FrontClient) -> str:
    """The first handle of the message, which the client keeps."""
    (one,) = client.receive(auto_renew=True).received
    return handle_of(one)


def begin_renewal(lab: ProxyLab) -> None:
    """Let the front ask for a renewal that the broker does not answer yet."""
    lab.core.advance(49_000)
    lab.broker.pause()
    lab.core.advance_to_next("grpc_renew")
    assert [event.why for event in lab.core.journal.find(HandleRenewed)] == ["renewed"]


def comes_again(lab: ProxyLab, client: FrontClient, after_ms: int) -> bool:
    lab.core.advance(after_ms)
    again = client.receive()
    again.cancel()
    return bool(again.received)


def test_acknowledgement_during_a_renewal_waits_for_the_new_handle(
    lab: ProxyLab, push: FrontClient
) -> None:
    handle = received(push)
    begin_renewal(lab)
    asked = push.ack(handle)
    lab.core.advance(1_000)
    assert not asked.answers
    lab.broker.resume()
    assert asked.code == m.Code.OK
    assert asked.answer.entries[0].receipt_handle == handle
    assert not comes_again(lab, push, 10 * AUTO_INVISIBLE_MS)


def test_waiting_acknowledgement_is_the_cause_of_its_request(
    lab: ProxyLab, push: FrontClient
) -> None:
    handle = received(push)
    begin_renewal(lab)
    push.ack(handle)
    lab.broker.resume()
    journal = lab.core.journal
    (rpc,) = [one for one in journal if isinstance(one.event, RpcReceived)][-1:]
    (asked,) = [
        one
        for one in journal
        if isinstance(one.event, RequestReceived) and one.event.code == RequestCode5.ACK_MESSAGE
    ]
    assert asked.cause == rpc.seq


def test_change_during_a_renewal_waits_for_the_new_handle(lab: ProxyLab, push: FrontClient) -> None:
    handle = received(push)
    begin_renewal(lab)
    asked = push.change(handle, 20)
    assert not asked.answers
    lab.broker.resume()
    assert asked.code == m.Code.OK
    assert not comes_again(lab, push, 15_000)
    assert comes_again(lab, push, 10_000), "the changed time counts, not the renewed one"


def forward(client: FrontClient, handle: str) -> Asked:
    request = m.ForwardMessageToDeadLetterQueueRequest(
        topic=resource("normal"), group=resource("g"), receipt_handle=handle, message_id="m1"
    )
    return client.ask("ForwardMessageToDeadLetterQueue", request)


def test_message_forwarded_during_a_renewal_is_one_dead_letter(
    lab: ProxyLab, push: FrontClient
) -> None:
    handle = received(push)
    begin_renewal(lab)
    asked = forward(push, handle)
    assert not asked.answers
    lab.broker.resume()
    assert asked.code == m.Code.OK
    assert lab.broker.store.max_offset_in_queue("%DLQ%g", 0) == 1
    assert not comes_again(lab, push, 10 * AUTO_INVISIBLE_MS)


def test_of_two_acknowledgements_that_wait_the_second_has_the_first_handle(
    lab: ProxyLab, push: FrontClient
) -> None:
    """As Java: the message is renewed no more, and its newest handle is forgotten."""
    handle = received(push)
    begin_renewal(lab)
    first, second = push.ack(handle), push.ack(handle, handle)
    lab.broker.resume()
    assert (first.code, second.code) == (m.Code.OK, m.Code.OK)
    assert not comes_again(lab, push, 10 * AUTO_INVISIBLE_MS)


def test_acknowledgement_is_sent_when_the_renewal_fails(lab: ProxyLab, push: FrontClient) -> None:
    handle = received(push)
    begin_renewal(lab)
    asked = push.ack(handle)
    lab.core.advance(2_000)  # the time for the renewal is over, and the acknowledgement is sent
    assert not asked.answers
    lab.broker.resume()
    assert asked.code == m.Code.OK
    assert not list(lab.proxy.renewals.client_ids())


def test_message_of_a_client_that_leaves_during_a_renewal_is_returned_with_the_new_handle(
    lab: ProxyLab, push: FrontClient
) -> None:
    """Not earlier than the next look: the old handle would let it come twice."""
    received(push)
    scope = Scope(code=int(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME))
    lab.core.faults.place(BEFORE_REPLY, Delay(1_500), "a late answer", scope, ONCE)
    lab.core.advance_to_next("grpc_renew")
    lab.core.advance(700)
    push.ask("NotifyClientTermination", m.NotifyClientTerminationRequest(group=resource("g")))
    lab.core.advance(5_000)
    changes = lab.core.journal.find(HandleRenewed)
    assert [(one.why, one.invisible_ms) for one in changes[1:]] == [
        ("client left", CLEAR_INVISIBLE_MS)
    ]
    other = lab.client("other", outside=True)
    other.consume()
    lab.core.advance(5_000)
    (one,) = other.receive().received
    assert other.ack(handle_of(one)).code == m.Code.OK
    assert not comes_again(lab, other, 10 * AUTO_INVISIBLE_MS)


def test_message_of_a_group_without_its_client_is_returned_at_the_next_look(
    lab: ProxyLab, push: FrontClient
) -> None:
    """A client may receive for a group whose member it is not: nothing is prolonged for it."""
    assert len(push.receive(auto_renew=True, group="h").received) == 1
    lab.core.advance(5_000)
    assert [one.why for one in lab.core.journal.find(HandleRenewed)] == ["client left"]
    assert not list(lab.proxy.renewals.client_ids())
