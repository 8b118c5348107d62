"""What peers have registered is walked in slices: topics of a broker, brokers of a topic."""

from __future__ import annotations

import json

import pytest

from fakemq.clock.slices import SLICE_MS
from fakemq.namesrv.namesrv import NameServer
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.namesrv_lab import NamesrvLab, broker_fields, register, topic
from tests.support.peer import Answer, Peer
from tests.support.slices import take_turns, work_in_turns

MANY = 20 * SLICE_MS
TOPICS = [topic(f"topic-{number}") for number in range(MANY)]


@pytest.fixture
def name_server(lab: NamesrvLab, monkeypatch: pytest.MonkeyPatch) -> NameServer:
    name_server = lab.name_server()
    work_in_turns(lab.clock, monkeypatch)
    return name_server


@pytest.fixture
def peer(lab: NamesrvLab, name_server: NameServer) -> Peer:
    return lab.peer(name_server, outside=True)


def with_queues(name_server: NameServer, broker: str) -> set[str]:
    table = name_server.tables.topic_queue_table
    return {name for name, queues in table.items() if broker in queues}


def arrived(answer: Answer) -> RemotingCommand | None:
    return answer.response


def test_topics_of_a_broker_go_in_slices(
    lab: NamesrvLab, name_server: NameServer, peer: Peer
) -> None:
    register(peer, *TOPICS)
    peer.close()
    assert "broker-a" not in name_server.tables.broker_addr_table
    assert MANY - len(with_queues(name_server, "broker-a")) <= SLICE_MS
    assert take_turns(lab.clock) > 10
    assert name_server.tables.topic_queue_table == {}


def test_broker_that_registers_again_meanwhile_keeps_what_it_says_then(
    lab: NamesrvLab, name_server: NameServer, peer: Peer
) -> None:
    register(peer, *TOPICS)
    peer.close()
    register(lab.peer(name_server, outside=True), TOPICS[0], TOPICS[-1], topic("other"))
    take_turns(lab.clock)
    kept = {"topic-0", f"topic-{MANY - 1}", "other"}
    assert with_queues(name_server, "broker-a") == kept
    assert name_server.tables.topics_of["broker-a"].keys() == kept


def test_broker_that_goes_leaves_the_topics_of_others_alone(
    name_server: NameServer, peer: Peer, lab: NamesrvLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even a look at them is taken."""
    register(peer, *TOPICS)
    other = lab.peer(name_server, outside=True)
    register(other, TOPICS[0], name="broker-b", addr="10.0.0.2:10911")
    removed: list[str] = []
    remove = name_server.tables.remove_queues

    def noted(topic: str, broker_name: str) -> None:
        removed.append(topic)
        remove(topic, broker_name)

    monkeypatch.setattr(name_server.tables, "remove_queues", noted)
    other.close()
    assert removed == ["topic-0"]


def test_write_permission_of_many_topics_ends_in_slices(
    lab: NamesrvLab, name_server: NameServer, peer: Peer
) -> None:
    register(peer, *TOPICS)
    answer = peer.send(RequestCode.WIPE_WRITE_PERM_OF_BROKER, ext_fields={"brokerName": "broker-a"})
    assert arrived(answer) is None
    assert take_turns(lab.clock) > 10
    lab.network.settle()
    response = arrived(answer)
    assert response is not None
    assert response.ext_fields["wipeTopicCount"] == str(MANY)
    perms = {queues["broker-a"].perm for queues in name_server.tables.topic_queue_table.values()}
    assert perms == {4}


@pytest.mark.parametrize(
    "code", [RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO]
)
@pytest.mark.parametrize("version", [0, 401])
def test_many_brokers_are_listed_in_slices(
    lab: NamesrvLab, name_server: NameServer, peer: Peer, code: RequestCode, version: int
) -> None:
    for number in range(MANY):
        register(
            peer,
            TOPICS[0],
            name=f"broker-{number}",
            addr=f"10.0.0.1:{number}",
            filter_servers=["f:1"],
        )
    fields = {"topic": "topic-0"}
    command = RemotingCommand(code, ext_fields=fields)
    command.version = version
    answer = peer.send_command(command)
    assert arrived(answer) is None
    assert take_turns(lab.clock) > 10
    lab.network.settle()
    inside = lab.peer(name_server).ask(code, ext_fields=fields, version=version)
    response = arrived(answer)
    assert response is not None
    assert response.body == inside.body
    assert inside.body.count(b"10.0.0.1:") >= MANY


def test_route_in_slices_is_that_of_one_step(
    lab: NamesrvLab, name_server: NameServer, peer: Peer
) -> None:
    for number in range(60):
        register(peer, TOPICS[0], name=f"broker-{number}", addr=f"10.0.0.1:{number}")
    route = name_server.routes.topic_route("topic-0")
    assert route is not None
    for standard in (True, False):
        answer = lab.peer(name_server).ask(
            RequestCode.GET_ROUTEINFO_BY_TOPIC,
            ext_fields={"topic": "topic-0"},
            version=401 if standard else 0,
        )
        assert answer.body == route.encode(standard_json=standard)
    assert len(json.loads(route.encode(standard_json=True))["brokerDatas"]) == 60


def test_tables_by_broker_are_empty_when_all_have_gone(
    lab: NamesrvLab, name_server: NameServer, peer: Peer
) -> None:
    register(peer, *TOPICS[:3])
    register(peer, TOPICS[0], broker_id=1, addr="10.0.0.1:2")
    register(peer, TOPICS[0], broker_id=0, addr="10.0.0.1:2")  # a slave that became the master
    for broker_id, addr in ((0, "10.0.0.1:10911"), (0, "10.0.0.1:2")):
        fields = broker_fields(broker_id=broker_id, addr=addr)
        peer.ask(RequestCode.UNREGISTER_BROKER, ext_fields=fields)
    take_turns(lab.clock)
    tables = name_server.tables
    assert tables.topic_queue_table == tables.topics_of == {}
    assert tables.places_of == {}
    assert tables.addrs_of == {}
