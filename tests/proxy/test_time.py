"""gRPC clients and the cluster's clock: what is held, renewed and asked, in one advance."""

from __future__ import annotations

from typing import Any

from fakemq.events.grpc import HandleRenewed, OrphanAsked
from fakemq.events.pop import Revived
from fakemq.protocol.grpc import messages as m
from fakemq.proxy.times import timestamp_of
from tests.support.proxy_lab import ProxyLab, handle_of, message

HOUR_MS = 3_600_000


def kinds(lab: ProxyLab) -> set[str]:
    return {timer.kind for timer in lab.core.clock.timers()}


def received(client: Any, **fields: Any) -> list[Any]:
    found: list[Any] = client.receive(**fields).received
    return found


def test_held_receive_waits_as_long_as_the_clock_is_frozen(lab: ProxyLab) -> None:
    client = lab.client(outside=True)
    client.consume()
    asked = client.receive(long_polling_timeout=m.Duration(seconds=20))
    assert not asked.answers
    assert "pop_hold" in kinds(lab)
    lab.core.advance_to_next("pop_hold")
    assert (asked.code, asked.message) == (40401, "no new message")


def test_held_receive_ends_with_its_caller(lab: ProxyLab) -> None:
    client = lab.client(outside=True)
    client.consume()
    client.receive().cancel()
    assert "pop_hold" not in kinds(lab)
    client.send(message())
    assert len(received(client)) == 1


def test_renewals_are_named_deadlines_on_a_grid_of_five_seconds(lab: ProxyLab) -> None:
    client = lab.client(outside=True)
    client.consume(push=True)
    lab.core.advance(1_234)
    client.send(message())
    (one,) = received(client, auto_renew=True)
    began_ms = lab.core.clock.elapsed_ms()
    (fired,) = [
        fired for fired in lab.core.advance_to_next("grpc_renew") if fired.kind == "grpc_renew"
    ]
    assert fired.owner == "proxy-0"
    assert lab.core.clock.elapsed_ms() % 5_000 == 0
    assert 50_000 <= lab.core.clock.elapsed_ms() - began_ms < 55_000
    assert [event.invisible_ms for event in lab.core.journal.find(HandleRenewed)] == [60_000]
    client.ack(handle_of(one))
    lab.core.advance(HOUR_MS)
    assert "grpc_renew" not in kinds(lab)
    assert len(lab.core.journal.find(HandleRenewed)) == 1


def test_twelve_hours_of_work_take_one_advance(lab: ProxyLab) -> None:
    """The front prolongs for 3 h; then the message comes again, and is prolonged no more."""
    client = lab.client(outside=True)
    client.consume(push=True)
    client.send(message())
    received(client, auto_renew=True)
    lab.core.advance(12 * HOUR_MS)
    whys = [event.why for event in lab.core.journal.find(HandleRenewed)]
    assert whys == ["renewed"] * (len(whys) - 1) + ["took too long"]
    assert len(lab.core.journal.find(Revived)) == 1
    (again,) = received(client, auto_renew=True)
    assert again.system_properties.delivery_attempt == 2


def test_invisible_time_of_twelve_hours_takes_one_advance(lab: ProxyLab) -> None:
    client = lab.client(outside=True)
    client.consume()
    client.send(message())
    received(client, invisible_s=12 * 3_600)
    lab.core.advance(12 * HOUR_MS)
    assert not lab.core.journal.find(Revived)
    lab.core.advance_to_next("pop_revive")
    assert len(received(client)) == 1


def test_delayed_message_of_a_day_takes_one_advance(lab: ProxyLab) -> None:
    client = lab.client(outside=True)
    client.consume("g", "delay")
    at = timestamp_of(lab.core.clock.now_ms() + 24 * HOUR_MS)
    client.send(message("delay", delivery_timestamp=at))
    lab.core.advance(24 * HOUR_MS - 1_000)
    client.receive("delay").cancel()
    lab.core.advance_to_next("timer")
    assert len(received(client, topic="delay")) == 1


def test_transaction_is_asked_for_at_a_check(lab: ProxyLab) -> None:
    client = lab.client(outside=True)
    client.produce("tx")
    client.send(message("tx", message_type=m.MessageType.TRANSACTION))
    lab.core.advance_to_next("txn_check")
    lab.core.advance_to_next("txn_check")
    assert lab.core.journal.find(OrphanAsked)
    assert {"grpc_transaction_data", "grpc_heartbeat"} <= kinds(lab)


def test_client_in_the_cluster_is_forgotten_by_the_clock(lab: ProxyLab) -> None:
    inside, outside = lab.client("in"), lab.client("out", outside=True)
    for client in (inside, outside):
        client.consume()
    lab.core.advance(HOUR_MS)
    assert [one.client_id for one in lab.proxy.clients.consumers("g")] == ["out"]
