"""A name server's life, its connections, and what it does with codes it does not know."""

from __future__ import annotations

import pytest

from fakemq.config.model import NamesrvConfig
from fakemq.errors import NotYetSupported
from fakemq.events import BrokerGone, HandlerFailed, NodeStarted, NodeStopped, Warned
from fakemq.namesrv.namesrv import handles
from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import (
    NamesrvLab,
    get_kv,
    namesrv_config,
    put_kv,
    register,
    route,
    topic,
)
from tests.support.peer import Peer

CODES = [100, 101, 102, 103, 104, 105, 106, 205, 206, 216, 219, 224]
CODES += [304, 311, 312, 313, 318, 319, 322, 327]


def test_every_code_of_the_4_9_7_name_server_is_handled() -> None:
    assert sorted(handles.load()) == CODES


@pytest.mark.parametrize("code", CODES)
def test_request_without_fields_is_no_bug(lab: NamesrvLab, peer: Peer, code: int) -> None:
    for body in (b"", b"{", b"\xff\x00", b"[]", b"null"):
        assert peer.ask(code, body=body).code in (0, 1, 17, 22)
    assert lab.journal.find(HandlerFailed) == []


def test_unknown_code_is_not_answered_and_reported_once(lab: NamesrvLab, peer: Peer) -> None:
    answers = [peer.send(code) for code in (9999, 9999, RequestCode.SEND_MESSAGE)]
    assert not any(answer.over for answer in answers)
    lab.clock.advance("3s")
    assert [answer.response for answer in answers] == [None, None, None]
    texts = [warned.text for warned in lab.journal.find(Warned)]
    assert texts == [
        "no answer to code 9999 (9999): a 4.9.7 name server has none",
        "no answer to SEND_MESSAGE (10): a 4.9.7 name server has none",
    ]
    assert not peer.closed


def test_number_of_warnings_about_unknown_codes_is_limited(lab: NamesrvLab, peer: Peer) -> None:
    for code in range(5000, 5100):
        peer.send(code)
    assert len(lab.journal.find(Warned)) == 20


def test_oneway_request_is_handled_and_not_answered(lab: NamesrvLab, peer: Peer) -> None:
    register(peer, topic("T"))
    peer.oneway(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    assert peer.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == 0


def test_broker_is_removed_when_its_connection_closes(lab: NamesrvLab) -> None:
    broker, other = lab.peer(), lab.peer()
    register(broker, topic("T"))
    register(other, topic("U"), name="broker-b", addr="10.0.0.2:10911")
    broker.close()
    assert route(other, "T") is None
    assert route(other, "U") is not None
    (gone,) = lab.journal.find(BrokerGone)
    assert (gone.broker_addr, gone.why) == ("10.0.0.1:10911", "channel closed")


def test_closed_connection_of_a_client_removes_no_broker(lab: NamesrvLab) -> None:
    broker, client = lab.peer(), lab.peer()
    register(broker, topic("T"))
    client.close()
    assert route(broker, "T") is not None


def test_reconnected_broker_survives_the_end_of_its_old_connection(lab: NamesrvLab) -> None:
    old, new = lab.peer(), lab.peer()
    register(old, topic("T"))
    register(new, topic("T"))
    old.close()
    assert route(new, "T") is not None


def test_stopped_name_server_leaves_nothing_behind(lab: NamesrvLab) -> None:
    server = lab.name_server()
    peer = lab.peer(server)
    register(peer, topic("T"))
    server.stop()
    lab.network.settle()
    assert peer.closed
    assert server.sessions == {}
    assert lab.clock.timers() == []
    assert lab.journal.find(BrokerGone) == [], "the broker is where it was"
    server.stop()
    assert [stopped.how for stopped in lab.journal.find(NodeStopped)] == ["stop"]
    server.start(server.addr)
    again = lab.peer(server)
    assert route(again, "T") is None
    register(again, topic("T"))
    assert route(again, "T") is not None
    assert len(lab.journal.find(NodeStarted)) == 2


def test_restart_begins_a_new_scan_grid(lab: NamesrvLab) -> None:
    server = lab.name_server()
    lab.clock.advance("3s")
    server.stop()
    server.start(server.addr)
    register(lab.peer(server))
    (timer,) = (t for t in lab.clock.timers() if t.kind == "broker_expiry")
    assert lab.clock.due_in_ms(timer) == 125_000


def test_reset_forgets_all_but_the_connections(lab: NamesrvLab, peer: Peer) -> None:
    register(peer, topic("T"))
    put_kv(peer, "N", "k", "v")
    peer.ask(RequestCode.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true")
    lab.servers[0].reset()
    assert route(peer, "T") is None
    assert get_kv(peer, "N", "k").code == 22
    assert namesrv_config(peer)["orderMessageEnable"] == "false"
    assert [timer.kind for timer in lab.clock.timers()].count("broker_expiry") == 0
    register(peer, topic("T"))
    assert route(peer, "T") is not None, "the same data version as before"


def test_name_servers_are_independent(lab: NamesrvLab) -> None:
    first, second = lab.name_server(), lab.name_server()
    with_first, with_second = lab.peer(first), lab.peer(second)
    register(with_first, topic("T"))
    register(with_second, topic("U"))
    put_kv(with_first, "N", "k", "v")
    assert route(with_second, "T") is None
    assert route(with_first, "U") is None
    assert get_kv(with_second, "N", "k").code == 22
    first.stop()
    assert route(with_second, "U") is not None


def test_cluster_test_mode_is_refused(lab: NamesrvLab) -> None:
    with pytest.raises(NotYetSupported, match=r"clusterTest=true: .* leave clusterTest out"):
        lab.name_server(NamesrvConfig(cluster_test=True))


def test_repr_shows_address_and_tables(lab: NamesrvLab) -> None:
    server = lab.name_server()
    register(lab.peer(server))
    assert repr(server) == "<name server namesrv-0 at 127.0.0.1:9876 running, 1 brokers>"
    server.stop()
    assert repr(server) == "<name server namesrv-0 at 127.0.0.1:9876 stopped, 0 brokers>"
