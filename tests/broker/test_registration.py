"""Registration at name servers: when, at which, and what a broker does with their answers."""

from __future__ import annotations

import zlib

import pytest

from fakemq.broker.registration import SILENCE
from fakemq.config.model import BrokerConfig
from fakemq.events import Warned
from fakemq.events.faults import FaultHit
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.bodies.topic import RegisterBrokerBody, TopicConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.namesrv import RegisterBrokerRequestHeader
from tests.support.clients import beat, consumer_data
from tests.support.namesrv_double import NameServerDouble
from tests.support.world import World

ONE, TWO = "10.0.0.1:9876", "10.0.0.2:9876"
WEEK_MS = 7 * 86_400_000
"""A first look at transactions so late makes no topic that would be registered meanwhile."""


def registered(request: RemotingCommand) -> dict[str, TopicConfig]:
    """The topics in a registration, whose header is checked on the way."""
    header = RegisterBrokerRequestHeader.decode(request.ext_fields)
    assert header.body_crc32 == zlib.crc32(request.body) & 0x7FFFFFFF
    body = RegisterBrokerBody.decode(request.body, compressed=header.compressed)
    return body.topic_config_serialize_wrapper.topic_config_table


def times(world: World, name_server: NameServerDouble, seconds: int) -> list[int]:
    """At which second each request of the next ``seconds`` came."""
    found = []
    for second in range(1, seconds + 1):
        name_server.requests.clear()
        world.clock.advance(1)
        found += [second] * len(name_server.requests)
    return found


def test_at_start_every_name_server_hears_everything(world: World) -> None:
    servers = [world.name_server(ONE), world.name_server(TWO)]
    broker = world.broker(namesrv_addrs=(ONE, TWO))
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
def test_then_after_10_s_then_every_period_within_bounds(
    world: World, period: int, expected: int
) -> None:
    server = world.name_server(ONE)
    config = BrokerConfig(register_name_server_period=period, transaction_check_interval=WEEK_MS)
    world.broker(config, namesrv_addrs=(ONE,))
    assert times(world, server, 10 + 2 * expected) == [10, 10 + expected, 10 + 2 * expected]


def test_a_dead_or_dumb_name_server_delays_nobody(world: World) -> None:
    dumb = world.name_server(ONE)
    dumb.answer = lambda request: None
    server = world.name_server(TWO)
    world.broker(namesrv_addrs=("10.0.0.9:9876", ONE, TWO))
    assert server.codes() == [RequestCode.REGISTER_BROKER]
    assert times(world, server, 40) == [10, 40]
    assert not dumb.lost, "its connection stays"


def test_a_name_server_that_comes_later_is_found(world: World) -> None:
    world.broker(namesrv_addrs=(ONE,))
    server = world.name_server(ONE)
    assert times(world, server, 10) == [10]


def test_a_new_topic_is_told_at_once_and_oneway(world: World) -> None:
    server = world.name_server(ONE)
    broker = world.broker(namesrv_addrs=(ONE,))
    server.requests.clear()
    broker.topics.create_in_send("orders", "TBW102", 4, 0)
    world.network.settle()
    assert [request.is_oneway for request in server.requests] == [True]
    assert registered(server.requests[0]) == broker.topics.snapshot()


def test_a_topic_made_by_hand_is_told_alone_with_the_new_version(world: World) -> None:
    server = world.name_server(ONE)
    broker = world.broker(namesrv_addrs=(ONE,))
    server.requests.clear()
    broker.create_topic("orders", 3)
    world.network.settle()
    assert [request.is_oneway for request in server.requests] == [False]
    assert list(registered(server.requests[0])) == ["orders"]
    body = RegisterBrokerBody.decode(server.requests[0].body)
    version = body.topic_config_serialize_wrapper.data_version
    assert version == broker.topics.data_version
    assert version.counter == 1


@pytest.mark.parametrize("perm", [2, 4])
def test_a_broker_that_is_not_rw_gives_its_perm_to_every_topic(world: World, perm: int) -> None:
    server = world.name_server(ONE)
    broker = world.broker(BrokerConfig(broker_permission=perm), namesrv_addrs=(ONE,))
    assert {config.perm for config in registered(server.requests[0]).values()} == {perm}
    server.requests.clear()
    broker.create_topic("orders", 3)
    world.network.settle()
    assert registered(server.requests[0]) == {
        "orders": TopicConfig(topic_name="orders", read_queue_nums=3, write_queue_nums=3, perm=perm)
    }


def test_registrations_can_be_compressed(world: World) -> None:
    server = world.name_server(ONE)
    broker = world.broker(BrokerConfig(compressed_register=True), namesrv_addrs=(ONE,))
    assert server.requests[0].ext_fields["compressed"] == "true"
    assert registered(server.requests[0]) == broker.topics.snapshot()


def test_order_topics_of_the_answer_become_order_topics_here(world: World) -> None:
    server = world.name_server(ONE)
    broker = world.broker(namesrv_addrs=(ONE,))
    broker.create_topic("orders", 1)
    server.answer = lambda request: RemotingCommand(
        0, body=KVTable(table={"orders": "broker-a:1"}).encode()
    )
    world.clock.advance("10s")
    assert broker.topics.is_order("orders")
    server.answer = NameServerDouble.success
    world.clock.advance("30s")
    assert broker.topics.is_order("orders"), "no table says nothing"
    server.answer = lambda request: RemotingCommand(0, body=KVTable().encode())
    world.clock.advance("30s")
    assert not broker.topics.is_order("orders")


@pytest.mark.parametrize("force", [True, False])
def test_an_answer_that_nobody_can_read_is_a_warning_at_most(world: World, force: bool) -> None:
    server = world.name_server(ONE)
    broker = world.broker(BrokerConfig(force_register=force), namesrv_addrs=(ONE,))
    broker.topics.update_order_topics(["SELF_TEST_TOPIC"])
    server.answer = lambda request: RemotingCommand(0, ext_fields={"changed": "false"}, body=b"{{")
    server.requests.clear()
    world.clock.advance("10s")
    assert server.codes()[-1] == RequestCode.REGISTER_BROKER
    (warned,) = world.journal.find(Warned)
    assert "order topics cannot be read" in warned.text
    assert broker.topics.is_order("SELF_TEST_TOPIC")
    world.clock.advance("30s")
    assert server.codes()[-1] == RequestCode.REGISTER_BROKER, "it goes on"


def test_only_the_first_good_answer_counts(world: World) -> None:
    first, second, third = (world.name_server(f"10.0.0.{n}:9876") for n in (1, 2, 3))
    first.answer = lambda request: RemotingCommand(1, remark="crc32 not match")
    second.answer = lambda request: RemotingCommand(
        0, ext_fields={"masterAddr": "second:1", "haServerAddr": "second:2"}
    )
    third.answer = lambda request: RemotingCommand(
        0, ext_fields={"masterAddr": "third:1", "haServerAddr": "third:2"}
    )
    broker = world.broker(
        BrokerConfig(broker_role="SLAVE", broker_id=1),
        namesrv_addrs=tuple(f"10.0.0.{n}:9876" for n in (1, 2, 3)),
    )
    assert broker.registration.master_addr == "second:1"
    assert broker.registration.master_ha_addr == "second:2"


def unchanged(request: RemotingCommand) -> RemotingCommand:
    return RemotingCommand(0, ext_fields={"changed": "false"})


def test_without_force_register_it_asks_first(world: World) -> None:
    server = world.name_server(ONE)
    broker = world.broker(BrokerConfig(force_register=False), namesrv_addrs=(ONE,))
    assert server.codes() == [RequestCode.REGISTER_BROKER], "at start without asking"
    server.requests.clear()
    server.answer = unchanged
    world.clock.advance("10s")
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
def test_it_registers_when_one_name_server_is_behind(
    world: World, answer: RemotingCommand | None
) -> None:
    server, other = world.name_server(ONE), world.name_server(TWO)
    world.broker(BrokerConfig(force_register=False), namesrv_addrs=(ONE, TWO))
    server.answer = lambda request: answer
    other.answer = unchanged
    other.requests.clear()
    world.clock.advance("16s")
    assert other.codes() == [RequestCode.QUERY_DATA_VERSION, RequestCode.REGISTER_BROKER]


def test_silence_says_nothing_and_keeps_the_connection(world: World) -> None:
    server = world.name_server(ONE)
    broker = world.broker(namesrv_addrs=(ONE,))
    silent = broker.faults.place(
        SILENCE, None, "silence", Scope(node=broker.name, peer=ONE), ALWAYS
    )
    server.requests.clear()
    broker.create_topic("orders", 1)
    world.clock.advance("100s")
    assert server.requests == []
    assert not server.lost
    hits = world.journal.find(FaultHit)
    assert [hit.on for hit in hits] == [f"registration with {ONE}"] * silent.fired
    assert silent.fired == 6  # for the topic, after 10, 40, 70 and 100 s, for the half topic
    silent.remove()
    assert times(world, server, 30) == [30]


def test_the_timer_is_one_of_liveness(world: World) -> None:
    world.broker(namesrv_addrs=(ONE,))
    [timer] = [timer for timer in world.clock.timers() if timer.kind == "register_broker"]
    assert (timer.owner, timer.outside) == ("broker-a-0", False)


def test_outside_name_servers_are_beaten_in_real_time(world: World) -> None:
    server = world.name_server(ONE)
    broker = world.broker(BrokerConfig(transaction_check_interval=WEEK_MS), namesrv_addrs=(ONE,))
    session = broker.outbound.session(ONE)
    assert session is not None
    session.outside = True  # as that of a TCP connection is
    broker.register_all()
    world.network.settle()
    timers = [timer for timer in world.clock.timers() if timer.kind == "register_broker"]
    assert sorted(timer.outside for timer in timers) == [False, True]
    server.requests.clear()
    world.clock.advance("2h")
    assert server.requests == [], "the cluster's time is not theirs"
    world.clock.advance("11s", outside_peers=True)
    assert server.codes() == [RequestCode.REGISTER_BROKER]


@pytest.mark.parametrize(("said", "text"), [(None, None), (False, "false"), (True, "true")])
def test_an_acting_master_is_spoken_of_only_if_the_config_does(
    world: World, said: bool | None, text: str | None
) -> None:
    server = world.name_server(ONE)
    world.broker(BrokerConfig(enable_acting_master=said), namesrv_addrs=(ONE,))
    assert server.requests[0].ext_fields.get("enableActingMaster") == text


def test_one_request_that_makes_many_topics_registers_once(world: World) -> None:
    server = world.name_server(ONE)
    broker = world.broker(namesrv_addrs=(ONE,))
    server.requests.clear()
    groups = [consumer_data(f"g{number}", []) for number in range(500)]
    beat(world.peer(broker.addr), consumers=groups)
    assert server.codes() == [RequestCode.REGISTER_BROKER]
    names = {f"%RETRY%g{number}" for number in range(500)}
    assert registered(server.requests[0]).keys() >= names
