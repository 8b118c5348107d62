"""Silent clients: 120 s, then the next scan."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.events import LinkClosed, MemberChanged
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, beat, consume, consumer_data
from tests.support.peer import Peer


def members(broker: Broker) -> list[str]:
    return [m.client_id for m in broker.consumers.snapshot().get(GROUP, ())]


def keep_open(peer: Peer) -> None:
    """Traffic that is no heartbeat: the connection is not idle, the member is silent."""
    peer.ask(RequestCode.GET_BROKER_CONFIG)


def pass_with_traffic(lab: BrokerLab, peer: Peer, seconds: int) -> None:
    for _ in range(seconds // 60):
        lab.clock.advance("60s")
        if not peer.closed:
            keep_open(peer)
    lab.clock.advance(seconds % 60)


def test_silent_member_is_removed_by_the_scan_after_120_s(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    lab.clock.advance("3s")
    consume(peer)  # silent from 3 s on: 123 s is over the limit, the scan at 130 s sees it
    pass_with_traffic(lab, peer, 126)
    lab.clock.advance(0.999)
    assert members(broker) == ["client-1"]
    lab.clock.advance(0.001)
    assert members(broker) == []
    assert peer.closed
    assert "no heartbeat for 120 s" in [e.why for e in lab.journal.find(LinkClosed)]
    assert lab.journal.find(MemberChanged, how="expired")


def test_member_is_alive_after_exactly_120_s_of_silence(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    consume(peer)  # at 0, a tick of the grid
    pass_with_traffic(lab, peer, 120)
    assert members(broker) == ["client-1"]
    lab.clock.advance("10s")
    assert members(broker) == []


def test_heartbeats_keep_a_member_alive_for_hours(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    for _ in range(240):
        consume(peer)
        lab.clock.advance("30s")
    assert members(broker) == ["client-1"]
    pending = [timer for timer in lab.clock.timers() if timer.kind == "client_expiry"]
    assert len(pending) == 1


def test_scan_notifies_only_other_groups_of_the_closed_connection(
    lab: BrokerLab, broker: Broker
) -> None:
    silent, alive = lab.peer(broker.addr), lab.peer(broker.addr)
    consume(silent, "silent")
    consume(alive, "alive")
    for _ in range(3):
        lab.clock.advance("40s")
        keep_open(silent)
        consume(alive, "alive")
    alive.requests.clear()
    lab.clock.advance("10s")
    assert members(broker) == ["alive"]
    assert [c for c in alive.requests if c.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED] == []


def test_group_no_longer_in_the_heartbeat_lives_as_long_as_its_client(
    lab: BrokerLab, broker: Broker
) -> None:
    # The tables of a connection share what its first heartbeat brought, as in Java.
    peer = lab.peer(broker.addr)
    beat(peer, "one", consumers=[consumer_data("a"), consumer_data("b")])
    for _ in range(6):
        lab.clock.advance("30s")
        beat(peer, "one", consumers=[consumer_data("a")])
    assert set(broker.consumers.snapshot()) == {"a", "b"}


def test_group_of_a_later_heartbeat_expires_alone_and_closes_the_connection(
    lab: BrokerLab, broker: Broker
) -> None:
    peer, other = lab.peer(broker.addr), lab.peer(broker.addr)
    beat(peer, "one", consumers=[consumer_data("a")])
    beat(peer, "one", consumers=[consumer_data("b")])
    for _ in range(3):
        lab.clock.advance("40s")
        beat(peer, "one", consumers=[consumer_data("a")])
        beat(other, "two", consumers=[consumer_data("a"), consumer_data("b")])
    other.requests.clear()
    lab.clock.advance("10s")
    assert peer.closed
    assert [c.ext_fields["consumerGroup"] for c in other.requests] == ["a"]
    assert {group: len(ms) for group, ms in broker.consumers.snapshot().items()} == {
        "a": 1,
        "b": 1,
    }


def test_expired_producer_leaves_an_empty_group(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    beat(peer, "one", producers=["p"])
    pass_with_traffic(lab, peer, 130)
    assert broker.producers.channels("p") == []
    assert peer.closed


def test_live_outside_client_survives_a_clock_jump(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.outside_peer(broker)
    consume(peer)
    lab.clock.advance("2h")
    assert members(broker) == ["client-1"]
    assert not peer.closed


def test_silent_outside_client_expires_in_real_time_on_a_frozen_clock(
    lab: BrokerLab, broker: Broker
) -> None:
    peer = lab.outside_peer(broker)
    consume(peer)
    lab.outside_time_passes(60_000)
    keep_open(peer)
    lab.outside_time_passes(69_999)
    assert members(broker) == ["client-1"]
    lab.outside_time_passes(1)
    assert members(broker) == []


def test_outside_clients_age_when_the_test_says_so(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.outside_peer(broker)
    consume(peer)
    lab.clock.advance("131s", outside_peers=True)
    assert members(broker) == []


def test_next_scan_is_a_known_deadline(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    consume(peer)
    pass_with_traffic(lab, peer, 100)
    lab.clock.advance_ms(lab.clock.due_in_ms(lab.clock.next_of("client_expiry")))
    assert members(broker) == []
    assert lab.clock.elapsed_ms() == 130_000


def test_broker_without_members_has_no_scan_timer(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    consume(peer)
    peer.close()
    assert [timer for timer in lab.clock.timers() if timer.kind == "client_expiry"] == []


def test_paused_broker_scans_after_resume(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    consume(peer)
    pass_with_traffic(lab, peer, 100)
    broker.pause()
    lab.clock.advance("60s")
    assert members(broker) == ["client-1"]
    broker.resume()
    assert members(broker) == []
