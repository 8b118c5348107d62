"""The front as a node: pause, kill, reset, snapshots, and what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.core.snapshots import Snapshot
from fakemq.events.core import NodeStopped
from fakemq.faults.plan import ONCE, Scope
from fakemq.faults.points import BEFORE_RPC
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.message import decode_records
from fakemq.proxy.faults import DelayRpc
from fakemq.proxy.messages import received_message
from fakemq.proxy.routes import UNSPECIFIED
from tests.support.proxy_lab import ProxyLab, handle_of, message, resource


def test_life_is_in_the_journal(lab: ProxyLab) -> None:
    lab.proxy.pause()
    lab.proxy.resume()
    lab.proxy.stop("kill")
    lab.core.start_proxy()
    stops = [one.event for one in lab.core.journal if isinstance(one.event, NodeStopped)]
    assert [event.how for event in stops if event.node == "proxy-0"] == ["pause", "resume", "kill"]


def test_paused_front_fires_no_timer(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume(push=True)
    client.send(message())
    client.receive(auto_renew=True)
    lab.proxy.pause()
    lab.core.advance(59_000)
    lab.proxy.resume()
    again = client.receive(long_polling_timeout=m.Duration(seconds=20))
    lab.core.advance(10_000)
    assert not again.received  # it was renewed late, but in time


def test_stopped_front_returns_what_it_renews(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume(push=True)
    client.send(message())
    client.receive(auto_renew=True)
    lab.proxy.stop()
    lab.core.start_proxy()
    client.consume(push=True)
    again = client.receive()
    lab.core.advance(5_000)
    assert len(again.received) == 1


def test_reset_keeps_clients_and_forgets_their_messages(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    client.send(message("tx", id="t1", message_type=m.MessageType.TRANSACTION))
    lab.core.reset()
    assert lab.proxy.clients.consumer("g", "c1")
    end = m.EndTransactionRequest(topic=resource("tx"), transaction_id="t1")
    assert client.ask("EndTransaction", end).code == 50001
    assert lab.proxy.routes.message_type("normal") == UNSPECIFIED


def test_held_receive_survives_a_reset(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    held = client.receive()
    lab.core.reset()
    lab.create_topic("normal")
    client.send(message())
    assert len(held.received) == 1


def test_snapshot_has_what_clients_sent(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    client.send(message())
    snapshot = Snapshot.of(lab.core.brokers, lab.core.name_servers)
    (one,) = client.receive().received
    client.ack(handle_of(one))
    lab.core.restore(snapshot)
    assert len(client.receive().received) == 1


def test_request_of_a_killed_front_gets_no_answer(lab: ProxyLab) -> None:
    lab.broker.pause()
    asked = lab.client().send(message())
    lab.proxy.stop("kill")
    lab.broker.resume()
    assert not asked.answers


def test_restarted_broker_is_found_again(lab: ProxyLab) -> None:
    client = lab.client()
    client.send(message())
    lab.broker.kill()
    assert client.send(message()).code == 50001
    lab.core.start_broker(lab.broker)
    lab.core.network.settle()
    assert client.send(message()).code == 20000


def test_two_masters_share_the_sends() -> None:
    lab = ProxyLab(masters=2)
    client = lab.client()
    for number in range(8):
        client.send(message(id=f"m{number}"))
    counts = [
        [broker.store.max_offset_in_queue("normal", queue) for queue in range(4)]
        for broker in lab.core.brokers.values()
    ]
    assert counts == [[1, 1, 1, 1], [1, 1, 1, 1]]
    client.consume()
    assert len(client.receive(broker="broker-b").received) == 4
    lab.free()


def test_consumers_of_the_front_are_unknown_to_the_brokers_commands(lab: ProxyLab) -> None:
    lab.client().consume()
    lab.client("p").produce("normal")
    assert lab.broker.consumers.group("g") is None
    assert not lab.broker.producers.channels("normal")
    assert RequestCode.HEART_BEAT not in {
        getattr(one.event, "code", None) for one in lab.core.journal if one.event.node == "proxy-0"
    }


@pytest.mark.parametrize("outside", [False, True])
def test_clock_of_renewals_is_the_clusters(outside: bool) -> None:
    lab = ProxyLab()
    client = lab.client("push", outside=outside)
    client.consume(push=True)
    client.send(message())
    client.receive(auto_renew=True)
    kinds = {timer.kind for timer in lab.core.clock.timers()}
    assert {"grpc_renew", "grpc_client_expiry"} <= kinds
    lab.free()


def test_broker_that_is_killed_while_the_front_is_paused_refuses_afterwards(lab: ProxyLab) -> None:
    lab.broker.pause()
    asked = lab.client().send(message())
    lab.proxy.pause()
    lab.broker.kill()
    lab.proxy.resume()
    assert asked.code == 50001
    assert "send request to" in asked.message


@pytest.mark.parametrize(("how", "received"), [("kill", 0), ("stop", 1)])
def test_stopped_front_releases_what_is_not_read_and_a_killed_one_does_not(
    lab: ProxyLab, how: str, received: int
) -> None:
    client = lab.client()
    sessions: dict[Any, None] = lab.proxy.sessions
    sessions[client.connection] = None
    client.consume()
    held = client.receive("prio", invisible_s=60)
    held.blocked = True
    client.send(message("prio", priority=0))
    lab.proxy.stop(how)
    lab.core.start_proxy()
    other = lab.client("other")
    other.consume()
    again = other.receive("prio")
    lab.core.advance(6_000)
    assert len(again.received) == received


def test_closed_connection_has_no_session_at_brokers_for_what_is_done_later(lab: ProxyLab) -> None:
    place = lab.core.faults.place
    place(BEFORE_RPC, DelayRpc(1_000), "late", Scope(rpc="SendMessage"), ONCE)
    before = len(lab.broker.sessions)
    client = lab.client()
    client.send(message())
    client.connection.close("gone")
    lab.core.advance(1_000)
    client.consume()
    assert len(lab.broker.sessions) == before + 1  # that of the front itself


@pytest.mark.parametrize(
    ("limit", "what"),
    [("CLIENTS_MAX", "clients"), ("MEMBERSHIPS_MAX", "memberships of clients in groups")],
)
def test_clients_beyond_the_limit_are_refused_and_others_stay(
    lab: ProxyLab, monkeypatch: pytest.MonkeyPatch, limit: str, what: str
) -> None:
    monkeypatch.setattr(f"fakemq.proxy.clients.{limit}", 2)
    for client_id in ("c1", "c2"):
        lab.client(client_id).produce("normal")
    refused = lab.client("c3").produce("normal")
    assert refused.status is GrpcStatus.INVALID_ARGUMENT
    assert refused.text.endswith(f"fakemq takes no more than 2 {what}")
    assert lab.proxy.settings.raw("c3") is None
    beat = m.HeartbeatRequest(client_type=m.ClientType.PRODUCER)
    assert lab.client("c1").ask("Heartbeat", beat).code == 20000
    lab.client("c2").ask("NotifyClientTermination", m.NotifyClientTerminationRequest())
    lab.client("c3").produce("normal")
    assert lab.proxy.clients.find("c3") is not None


def test_settings_of_members_are_forgotten_last(
    lab: ProxyLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fakemq.proxy.settings.HELD_MAX_BYTES", 20_000)
    lab.client("member").produce("normal")
    for number in range(10):
        lab.client(f"other{number}").produce()
    known = lab.proxy.settings
    assert known.raw("member") is not None
    assert known.raw("other0") is None
    assert known.raw("other9") is not None


def test_message_of_any_attempt_can_be_shown(lab: ProxyLab) -> None:
    client = lab.client()
    client.send(message())
    results = [lab.broker.store.get_message("g", "normal", queue, 0, 1) for queue in range(4)]
    (stored,) = [one for found in results for one in decode_records(b"".join(found.buffers))]
    stored.reconsume_times = 2**31 - 1
    assert received_message(stored, 0).system_properties.delivery_attempt == -(2**31)
