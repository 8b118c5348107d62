"""Registration at name servers: when, at which, and what a broker does with their answers."""

from __future__ import annotations

import zlib

import pytest

from fakemq.config.model import BrokerConfig
from fakemq.events import Warned
from fakemq.events.faults import FaultHit
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.faults.points import SILENCE
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.bodies.topic import RegisterBrokerBody, TopicConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.namesrv import RegisterBrokerRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import beat, consumer_data
from tests.support.namesrv_double import NameServerDouble

ONE, TWO = "10.0.0.1:9876", "10.0.0.2:9876"
WEEK_MS = 7 * 86_400_000
"""A first look at transactions so late makes no topic that would be registered meanwhile."""


def registered(request: RemotingCommand) -> dict[str, TopicConfig]:
    """The topics in a registration, whose header is checked on the way."""
    header = RegisterBrokerRequestHeader.decode(request.ext_fields)
    assert header.body_crc32 == zlib.crc32(request.body) & 0x7FFFFFFF
    body = RegisterBrokerBody.decode(request.body, compressed=header.compressed)
    return body.topic_config_serialize_wrapper.topic_config_table


def times(lab: BrokerLab, name_server: NameServerDouble, seconds: int) -> list[int]:
    """At which second each request of the next ``seconds`` came."""
    found = []
    for second in range(1, seconds + 1):
        name_server.requests.clear()
        lab.clock.advance(1)
        found += [second] * len(name_server.requests)
    return found


def test_start_registers_everything_at_every_name_server(lab: BrokerLab) -> None:
    servers = [lab.name_server(ONE), lab.name_server(TWO)]
    broker = lab.broker(namesrv_addrs=(ONE, TWO))
    for server in servers:
        assert server.codes() == [RequestCode.REGISTER_BROKER]
        assert registered(server.requests[0]) == broker.topics.snapshot()
        assert server.requests[0].ext_fields | {"bodyCrc32": ""} == {
            "brokerName": "broker-a",
            "brokerAddr": "127.0.0.1:10911",
            "clusterName": "DefaultCluster",
            "haServerAddr": "127.0.0.1:10912",
            "brokerId": "0",
            "compressed": "false",
            "bodyCrc32": "",
        }


@pytest.mark.parametrize(("period", "expected"), [(30_000, 30), (1, 10), (600_000, 60)])
def test_registration_repeats_after_10_s_and_then_every_period(
    lab: BrokerLab, period: int, expected: int
) -> None:
    server = lab.name_server(ONE)
    config = BrokerConfig(register_name_server_period=period, transaction_check_interval=WEEK_MS)
    lab.broker(config, namesrv_addrs=(ONE,))
    assert times(lab, server, 10 + 2 * expected) == [10, 10 + expected, 10 + 2 * expected]


def test_dead_or_silent_name_server_delays_no_other(lab: BrokerLab) -> None:
    dumb = lab.name_server(ONE)
    dumb.answer = lambda request: None
    server = lab.name_server(TWO)
    lab.broker(namesrv_addrs=("10.0.0.9:9876", ONE, TWO))
    assert server.codes() == [RequestCode.REGISTER_BROKER]
    assert times(lab, server, 40) == [10, 40]
    assert not dumb.lost, "its connection stays"


def test_later_name_server_is_found(lab: BrokerLab) -> None:
    lab.broker(namesrv_addrs=(ONE,))
    server = lab.name_server(ONE)
    assert times(lab, server, 10) == [10]


def test_new_topic_is_registered_at_once_and_oneway(lab: BrokerLab) -> None:
    server = lab.name_server(ONE)
    broker = lab.broker(namesrv_addrs=(ONE,))
    server.requests.clear()
    broker.topics.create_in_send("orders", "TBW102", 4, 0)
    lab.network.settle()
    assert [request.is_oneway for request in server.requests] == [True]
    assert registered(server.requests[0]) == broker.topics.snapshot()


def test_topic_created_by_an_administrator_is_registered_alone(lab: BrokerLab) -> None:
    server = lab.name_server(ONE)
    broker = lab.broker(namesrv_addrs=(ONE,))
    server.requests.clear()
    broker.create_topic("orders", 3)
    lab.network.settle()
    assert [request.is_oneway for request in server.requests] == [False]
    assert list(registered(server.requests[0])) == ["orders"]
    body = RegisterBrokerBody.decode(server.requests[0].body)
    version = body.topic_config_serialize_wrapper.data_version
    assert version == broker.topics.data_version
    assert version.counter == 1


@pytest.mark.parametrize("perm", [2, 4])
def test_permission_of_a_restricted_broker_is_that_of_every_topic(
    lab: BrokerLab, perm: int
) -> None:
    server = lab.name_server(ONE)
    broker = lab.broker(BrokerConfig(broker_permission=perm), namesrv_addrs=(ONE,))
    assert {config.perm for config in registered(server.requests[0]).values()} == {perm}
    server.requests.clear()
    broker.create_topic("orders", 3)
    lab.network.settle()
    assert registered(server.requests[0]) == {
        "orders": TopicConfig(topic_name="orders", read_queue_nums=3, write_queue_nums=3, perm=perm)
    }


def test_registration_can_be_compressed(lab: BrokerLab) -> None:
    server = lab.name_server(ONE)
    broker = lab.broker(BrokerConfig(compressed_register=True), namesrv_addrs=(ONE,))
    assert server.requests[0].ext_fields["compressed"] == "true"
    assert registered(server.requests[0]) == broker.topics.snapshot()


def test_order_topics_of_the_answer_are_adopted(lab: BrokerLab) -> None:
    server = lab.name_server(ONE)
    broker = lab.broker(namesrv_addrs=(ONE,))
    broker.create_topic("orders", 1)
    server.answer = lambda request: RemotingCommand(
        0, body=KVTable(table={"orders": "broker-a:1"}).encode()
    )
    lab.clock.advance("10s")
    assert broker.topics.is_order("orders")
    server.answer = NameServerDouble.success
    lab.clock.advance("30s")
    assert broker.topics.is_order("orders"), "no table says nothing"
    server.answer = lambda request: RemotingCommand(0, body=KVTable().encode())
    lab.clock.advance("30s")
    assert not broker.topics.is_order("orders")


@pytest.mark.parametrize("force", [True, False])
def test_unreadable_answer_is_at_most_a_warning(lab: BrokerLab, force: bool) -> None:
    server = lab.name_server(ONE)
    broker = lab.broker(BrokerConfig(force_register=force), namesrv_addrs=(ONE,))
    broker.topics.update_order_topics(["SELF_TEST_TOPIC"])
    server.answer = lambda request: RemotingCommand(0, ext_fields={"changed": "false"}, body=b"{{")
    server.requests.clear()
    lab.clock.advance("10s")
    assert server.codes()[-1] == RequestCode.REGISTER_BROKER
    (warned,) = lab.journal.find(Warned)
    assert "order topics cannot be read" in warned.text
    assert broker.topics.is_order("SELF_TEST_TOPIC")
    lab.clock.advance("30s")
    assert server.codes()[-1] == RequestCode.REGISTER_BROKER, "it continues"


def test_first_good_answer_counts(lab: BrokerLab) -> None:
    first, second, third = (lab.name_server(f"10.0.0.{n}:9876") for n in (1, 2, 3))
    first.answer = lambda request: RemotingCommand(1, remark="crc32 not match")
    second.answer = lambda request: RemotingCommand(
        0, ext_fields={"masterAddr": "second:1", "haServerAddr": "second:2"}
    )
    third.answer = lambda request: RemotingCommand(
        0, ext_fields={"masterAddr": "third:1", "haServerAddr": "third:2"}
    )
    broker = lab.broker(
        BrokerConfig(broker_role="SLAVE", broker_id=1),
        namesrv_addrs=tuple(f"10.0.0.{n}:9876" for n in (1, 2, 3)),
    )
    assert broker.registration.master_addr == "second:1"
    assert broker.registration.master_ha_addr == "second:2"


def unchanged(request: RemotingCommand) -> RemotingCommand:
    return RemotingCommand(0, ext_fields={"changed": "false"})


def test_broker_asks_for_versions_when_registration_is_not_forced(lab: BrokerLab) -> None:
    server = lab.name_server(ONE)
    broker = lab.broker(BrokerConfig(force_register=False), namesrv_addrs=(ONE,))
    assert server.codes() == [RequestCode.REGISTER_BROKER], "at start without asking"
    server.requests.clear()
    server.answer = unchanged
    lab.clock.advance("10s")
    assert server.codes() == [RequestCode.QUERY_DATA_VERSION]
    assert server.requests[0].body == broker.topics.data_version.encode()


@pytest.mark.parametrize(
    "answer",
    [
        RemotingCommand(0, ext_fields={"changed": "true"}),
        RemotingCommand(0, ext_fields={"changed": "false"}, body=b'{"counter":9,"timestamp":1}'),
        None,
    ],
)
def test_broker_registers_when_one_name_server_is_behind(
    lab: BrokerLab, answer: RemotingCommand | None
) -> None:
    server, other = lab.name_server(ONE), lab.name_server(TWO)
    lab.broker(BrokerConfig(force_register=False), namesrv_addrs=(ONE, TWO))
    server.answer = lambda request: answer
    other.answer = unchanged
    other.requests.clear()
    lab.clock.advance("16s")
    assert other.codes() == [RequestCode.QUERY_DATA_VERSION, RequestCode.REGISTER_BROKER]


def test_silenced_broker_sends_nothing_and_keeps_the_connection(lab: BrokerLab) -> None:
    server = lab.name_server(ONE)
    broker = lab.broker(namesrv_addrs=(ONE,))
    silent = broker.faults.place(
        SILENCE, None, "silence", Scope(node=broker.name, peer=ONE), ALWAYS
    )
    server.requests.clear()
    broker.create_topic("orders", 1)
    lab.clock.advance("100s")
    assert server.requests == []
    assert not server.lost
    hits = lab.journal.find(FaultHit)
    assert [hit.on for hit in hits] == [f"registration with {ONE}"] * silent.fired
    assert silent.fired == 6  # for the topic, after 10, 40, 70 and 100 s, for the half topic
    silent.remove()
    assert times(lab, server, 30) == [30]


def test_registration_timer_counts_as_liveness(lab: BrokerLab) -> None:
    lab.broker(namesrv_addrs=(ONE,))
    [timer] = [timer for timer in lab.clock.timers() if timer.kind == "register_broker"]
    assert (timer.owner, timer.outside) == ("broker-a-0", False)


def test_outside_name_servers_are_registered_at_in_real_time(lab: BrokerLab) -> None:
    server = lab.name_server(ONE)
    broker = lab.broker(BrokerConfig(transaction_check_interval=WEEK_MS), namesrv_addrs=(ONE,))
    session = broker.outbound.session(ONE)
    assert session is not None
    session.outside = True  # as that of a TCP connection is
    broker.register_all()
    lab.network.settle()
    timers = [timer for timer in lab.clock.timers() if timer.kind == "register_broker"]
    assert sorted(timer.outside for timer in timers) == [False, True]
    server.requests.clear()
    lab.clock.advance("2h")
    assert server.requests == [], "the cluster's time is not theirs"
    lab.clock.advance("11s", outside_peers=True)
    assert server.codes() == [RequestCode.REGISTER_BROKER]


@pytest.mark.parametrize(("said", "text"), [(None, None), (False, "false"), (True, "true")])
def test_acting_master_is_reported_only_when_configured(
    lab: BrokerLab, said: bool | None, text: str | None
) -> None:
    server = lab.name_server(ONE)
    lab.broker(BrokerConfig(enable_acting_master=said), namesrv_addrs=(ONE,))
    assert server.requests[0].ext_fields.get("enableActingMaster") == text


def test_request_that_creates_many_topics_registers_once(lab: BrokerLab) -> None:
    server = lab.name_server(ONE)
    broker = lab.broker(namesrv_addrs=(ONE,))
    server.requests.clear()
    groups = [consumer_data(f"g{number}", []) for number in range(500)]
    beat(lab.peer(broker.addr), consumers=groups)
    assert server.codes() == [RequestCode.REGISTER_BROKER]
    names = {f"%RETRY%g{number}" for number in range(500)}
    assert registered(server.requests[0]).keys() >= names
