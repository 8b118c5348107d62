"""A broker that falls silent is gone at the scan that finds it over 120 s old."""

from __future__ import annotations

import time

import pytest

from fakemq.clock.clock import Clock
from fakemq.events import BrokerGone, LinkClosed
from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import NamesrvLab, broker_fields, register, route, topic
from tests.support.peer import Peer


def expiries(clock: Clock) -> list[int]:
    """When brokers would be looked at next, from now."""
    return [clock.due_in_ms(timer) for timer in clock.timers() if timer.kind == "broker_expiry"]


def keep_talking(lab: NamesrvLab, peer: Peer, seconds: float) -> None:
    """Let time pass with the connection never idle: it is silent about registration only."""
    left = seconds
    while left > 0:
        lab.clock.advance(min(left, 60))
        peer.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        left -= 60


@pytest.mark.parametrize(
    ("registered_at_s", "gone_at_s"),
    # Scans are at 5, 15, 25, …; one exactly 120 s after the registration does not count.
    [(0, 125), (4.999, 125), (5, 135), (5.001, 135), (10, 135), (14.999, 135), (15, 145)],
)
def test_broker_expires_at_the_tick_of_javas_scan(
    lab: NamesrvLab, registered_at_s: float, gone_at_s: float
) -> None:
    peer = lab.peer()
    lab.clock.advance(registered_at_s)
    register(peer, topic("T"))
    keep_talking(lab, peer, gone_at_s - registered_at_s - 0.001)
    assert route(peer, "T") is not None
    lab.clock.advance("1ms")
    assert route(lab.peer(), "T") is None
    assert [gone.why for gone in lab.journal.find(BrokerGone)] == ["expired"]


def test_connection_of_an_expired_broker_is_closed(lab: NamesrvLab) -> None:
    peer = lab.peer()
    register(peer, topic("T"))
    keep_talking(lab, peer, 124.999)
    lab.clock.advance("1ms")
    assert peer.closed
    closed = lab.journal.find(LinkClosed, node="namesrv-0")
    assert [event.why for event in closed] == [
        "the broker 10.0.0.1:10911 has not registered for 120 s"
    ]


def test_silent_broker_expires_after_120_to_130_s(lab: NamesrvLab) -> None:
    # Silent altogether: whichever is first of the scan and the idle connection (120 s).
    register(lab.peer(), topic("T"))
    lab.clock.advance("119s")
    assert route(lab.peer(), "T") is not None
    begun = time.process_time()
    lab.clock.advance("11s")
    took_ms = (time.process_time() - begun) * 1000
    assert route(lab.peer(), "T") is None
    assert took_ms < 50, "0.1 ms on an idle machine"


def test_broker_that_registers_every_30_s_stays(lab: NamesrvLab) -> None:
    peer = lab.peer()
    fired = []
    for _ in range(240):
        register(peer, topic("T"))
        fired += [t for t in lab.clock.advance("30s") if t.kind == "broker_expiry"]
    assert route(peer, "T") is not None
    assert len(fired) <= 7200 // 100, "one timer per broker, looking only when it is due"
    assert len(expiries(lab.clock)) == 1


def test_idle_name_server_has_no_timer(lab: NamesrvLab) -> None:
    lab.name_server()
    assert expiries(lab.clock) == []


def test_outside_broker_ages_in_real_time_only(lab: NamesrvLab) -> None:
    outside = lab.peer(outside=True)
    register(outside, topic("T"))
    lab.clock.advance("2h")
    assert route(outside, "T") is not None
    lab.real_time_passes(100_000)
    outside.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    lab.real_time_passes(24_999)
    assert route(outside, "T") is not None
    lab.real_time_passes(1)
    assert route(lab.peer(), "T") is None


def test_outside_broker_ages_with_advance_on_request(lab: NamesrvLab) -> None:
    register(lab.peer(outside=True), topic("T"))
    lab.clock.advance("130s", outside_peers=True)
    assert route(lab.peer(), "T") is None


def test_broker_that_became_internal_ages_by_the_clusters_clock(lab: NamesrvLab) -> None:
    register(lab.peer(outside=True), topic("T"))
    register(lab.peer(), topic("T"))
    assert len(expiries(lab.clock)) == 1
    lab.clock.advance("130s")
    assert route(lab.peer(), "T") is None


def test_paused_name_server_scans_after_resume(lab: NamesrvLab) -> None:
    peer = lab.peer()
    register(peer, topic("T"))
    server = lab.servers[0]
    server.clock.pause()
    keep_talking(lab, peer, 200)
    assert route(peer, "T") is not None
    fields = broker_fields()
    assert peer.ask(RequestCode.UNREGISTER_BROKER, ext_fields=fields).code == 0
    register(peer, topic("T"))
    server.clock.resume()
    assert route(peer, "T") is not None, "the timer that fired late was not this registration's"
    assert len(expiries(lab.clock)) == 1
