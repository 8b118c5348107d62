"""Producers by group, and by client id."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.events import MemberChanged
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.client import UnregisterClientRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import beat
from tests.support.peer import Peer


def leave(peer: Peer, client_id: str, group: str) -> None:
    header = UnregisterClientRequestHeader(client_id=client_id, producer_group=group)
    peer.ask(RequestCode.UNREGISTER_CLIENT, header)


def client_ids(broker: Broker) -> dict[str, list[str]]:
    return {
        group: [member.client_id for member in members]
        for group, members in broker.producers.snapshot().items()
    }


def test_repeated_heartbeat_adds_no_member(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    beat(peer, "one", producers=["p", "q"])
    beat(peer, "one", producers=["p"])
    assert client_ids(broker) == {"p": ["one"], "q": ["one"]}
    assert broker.producers.groups() == ["p", "q"]
    changes = lab.journal.find(MemberChanged)
    assert [(change.kind, change.group) for change in changes] == [
        ("producer", "p"),
        ("producer", "q"),
    ]


def test_last_unregistration_removes_the_group(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    beat(peer, "one", producers=["p"])
    leave(peer, "one", "p")
    assert broker.producers.channels("p") is None


def test_group_stays_empty_when_its_connections_close(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    beat(peer, "one", producers=["p"])
    peer.close()
    assert broker.producers.channels("p") == []
    assert broker.producers.available_channel("p") is None
    assert broker.producers.find_channel("one") is None


def test_unregistering_forgets_the_clients_channel_until_it_reconnects(
    lab: BrokerLab, broker: Broker
) -> None:
    peer = lab.peer(broker.addr)
    beat(peer, "one", producers=["p", "q"])
    assert broker.producers.find_channel("one") is not None
    leave(peer, "one", "q")
    assert broker.producers.find_channel("one") is None
    beat(peer, "one", producers=["p"])
    assert broker.producers.find_channel("one") is None
    again = lab.peer(broker.addr)
    beat(again, "one", producers=["p"])
    found = broker.producers.find_channel("one")
    assert found is not None
    assert found.remote_addr == again.session.link.local_addr


def test_channels_are_chosen_in_turn(lab: BrokerLab, broker: Broker) -> None:
    peers = [lab.peer(broker.addr) for _ in range(3)]
    for number, peer in enumerate(peers):
        beat(peer, f"client-{number}", producers=["p"])
    turns = [broker.producers.available_channel("p") for _ in range(4)]
    addresses = [session.remote_addr for session in turns if session is not None]
    locals_ = [peer.session.link.local_addr for peer in peers]
    assert addresses == [locals_[1], locals_[2], locals_[0], locals_[1]]
    assert broker.producers.available_channel("absent") is None


def test_leaving_an_unknown_group_changes_nothing(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    beat(peer, "one", producers=["p"])
    leave(peer, "one", "q")
    assert client_ids(broker) == {"p": ["one"]}
    assert broker.producers.find_channel("one") is not None


def test_reset_keeps_connected_producers_and_drops_empty_groups(
    lab: BrokerLab, broker: Broker
) -> None:
    first, second = lab.peer(broker.addr), lab.peer(broker.addr)
    beat(first, "one", producers=["p"])
    beat(second, "two", producers=["q"])
    second.close()
    broker.reset()
    assert client_ids(broker) == {"p": ["one"]}
    assert broker.producers.find_channel("one") is not None
