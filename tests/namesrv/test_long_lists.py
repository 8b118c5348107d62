"""Lists of a name server with many topics or values are made in slices for outside peers."""

from __future__ import annotations

import json

import pytest

from fakemq.namesrv.namesrv import NameServer
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.namesrv_lab import NamesrvLab, register, topic
from tests.support.peer import Answer, Peer
from tests.support.slices import take_turns, work_in_turns

NUMBER = 3_000
FIELDS = {
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: {},
    RequestCode.GET_TOPICS_BY_CLUSTER: {"cluster": "DefaultCluster"},
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: {},
    RequestCode.GET_KVLIST_BY_NAMESPACE: {"namespace": "N"},
}


@pytest.fixture
def name_server(lab: NamesrvLab, monkeypatch: pytest.MonkeyPatch) -> NameServer:
    name_server = lab.name_server()
    inside = lab.peer(name_server)
    register(inside, *(topic(f"topic-{number}", sys_flag=2) for number in range(NUMBER)))
    name_server.kv.restore({"N": {f"key-{number}": str(number) for number in range(NUMBER)}})
    work_in_turns(lab.clock, monkeypatch)
    return name_server


@pytest.fixture
def peer(lab: NamesrvLab, name_server: NameServer) -> Peer:
    return lab.peer(name_server, outside=True)


def ask(peer: Peer, code: RequestCode) -> Answer:
    return peer.send(code, ext_fields=FIELDS[code])


def response(answer: Answer) -> RemotingCommand:
    assert answer.response is not None
    return answer.response


@pytest.mark.parametrize("code", FIELDS)
def test_long_list_is_made_in_slices(
    lab: NamesrvLab, name_server: NameServer, peer: Peer, code: RequestCode
) -> None:
    answer = ask(peer, code)
    assert answer.response is None
    assert peer.ask(RequestCode.GET_NAMESRV_CONFIG).code == 0, "others are served meanwhile"
    assert take_turns(lab.clock) > 10
    lab.network.settle()
    at_once = lab.peer(name_server).ask(code, ext_fields=FIELDS[code])
    assert response(answer).code == at_once.code == 0
    assert response(answer).body == at_once.body
    assert len(next(iter(json.loads(at_once.body).values()))) == NUMBER


@pytest.mark.parametrize("code", FIELDS)
def test_names_that_go_meanwhile_are_no_error(
    lab: NamesrvLab, name_server: NameServer, peer: Peer, code: RequestCode
) -> None:
    answer = ask(peer, code)
    for number in range(NUMBER):
        name_server.registration.delete_topic(f"topic-{number}", None)
        name_server.kv.delete("N", f"key-{number}")
    take_turns(lab.clock)
    lab.network.settle()
    assert response(answer).code == 0


def test_long_list_of_a_closed_connection_is_dropped(
    lab: NamesrvLab, name_server: NameServer, peer: Peer
) -> None:
    ask(peer, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    assert name_server.clock.unfinished_count == 1
    peer.close()
    assert name_server.clock.unfinished_count == 0
    assert take_turns(lab.clock) == 0
