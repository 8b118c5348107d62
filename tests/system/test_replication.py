"""Masters and slaves in one cluster: what consumers see, tables, routes and roles."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.broker.broker import Broker
from fakemq.core import changes, inspection
from fakemq.core.changes import reconfigured
from fakemq.errors import ConfigError
from fakemq.events.replication import ReplicationWaited
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.clients import long_pull, pull, pull_header
from tests.support.peer import Peer
from tests.support.replication import ASYNC, OK, SYNC, Replicated, code, same_log

# -- consumers at a slave -------------------------------------------------------------------------


def test_slave_is_readable_and_takes_no_messages() -> None:
    pair = Replicated(role=SYNC)
    pair.send()
    header = pull_header(sys_flag=PullSysFlag.SUBSCRIPTION | PullSysFlag.COMMIT_OFFSET)
    assert pair.ask(pair.slave, RequestCode.PULL_MESSAGE, header).code == OK
    assert pair.slave.offsets.query("billing", "orders", 0) == -1
    pair.producer = pair.peer(pair.slave)
    answer = pair.send()
    assert code(answer) is ResponseCode.SERVICE_NOT_AVAILABLE


def test_held_pull_at_a_slave_waits_for_the_next_check() -> None:
    pair = Replicated(role=SYNC)
    peer = pair.peer(pair.slave)
    answer = long_pull(peer, 0)
    assert code(pair.send()) is OK
    pair.core.advance(4_000)
    assert not answer.over
    pair.core.advance(1_000)
    assert code(answer) is OK


@pytest.mark.parametrize(("slave_read", "suggested"), [(False, "0"), (True, "1")])
def test_distant_consumer_is_sent_to_a_slave(slave_read: bool, suggested: str) -> None:
    config = {"slaveReadEnable": slave_read}
    pair = Replicated(ram_size=2000, config=config)
    for _ in range(20):
        pair.send()
    found = pull(pair.peer(pair.master), 0)
    assert found.ext_fields["suggestWhichBrokerId"] == suggested
    found = pull(pair.peer(pair.master), 19)
    assert found.ext_fields["suggestWhichBrokerId"] == "0"


# -- tables ---------------------------------------------------------------------------------------


def test_tables_are_synchronised_every_ten_seconds() -> None:
    pair = Replicated()
    pair.master.create_topic("later", 3)
    pair.master.offsets.commit("billing", "orders", 0, 7)
    pair.core.network.settle()
    pair.core.advance(2_999)
    assert pair.slave.topics.select("later") is None
    pair.core.advance(1)
    assert pair.slave.topics.select("later") == pair.master.topics.select("later")
    assert pair.slave.topics.data_version == pair.master.topics.data_version
    assert pair.slave.offsets.query("billing", "orders", 0) == 7
    pair.master.groups.find("late-group")
    pair.slave.offsets.commit("other", "orders", 1, 1)
    pair.core.advance(10_000)
    assert pair.slave.groups.snapshot() == pair.master.groups.snapshot()
    assert pair.slave.offsets.query("other", "orders", 1) == 1


def test_delay_offsets_are_stored_unchanged(tmp_path: Path) -> None:
    pair = Replicated(store=str(tmp_path))
    pair.send(properties="DELAY\x011")
    pair.core.advance(13_000)
    path = f"{tmp_path}/broker-a-1/config/delayOffset.json"
    with open(path) as file:
        assert file.read() == '{"offsetTable":{1:1}}'
    pair.core.stop()


def test_slave_of_a_dead_master_asks_no_node() -> None:
    pair = Replicated()
    pair.kill(pair.master)
    pair.core.advance(300_000)
    assert pair.slave.registration.master_addr is None


# -- routes and roles -----------------------------------------------------------------------------


def brokers_in_route(pair: Replicated) -> dict[int, str]:
    core = pair.core
    peer = Peer(core.network, core.clock, core.journal, core.namesrv_addrs[0])
    answer = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields={"topic": "orders"})
    (data,) = TopicRouteData.decode(answer.body).broker_datas
    return {int(number): addr for number, addr in data.broker_addrs.items()}


def test_route_has_master_and_slaves() -> None:
    trio = Replicated(slaves=2)
    assert brokers_in_route(trio) == {
        0: trio.master.addr,
        1: trio.slaves[0].addr,
        2: trio.slaves[1].addr,
    }
    trio.kill(trio.master)
    trio.core.advance(1)
    assert sorted(brokers_in_route(trio)) == [1, 2]


def restart(pair: Replicated, broker: Broker, **config: str | int) -> None:
    """Start a broker, once it is down, with another config."""
    changed = reconfigured(broker.config, config)
    pair.stop(broker)
    broker.config.restore(changed)
    pair.start(broker)


def test_brokers_are_promoted_and_demoted() -> None:
    pair = Replicated(role=SYNC)
    for _ in range(3):
        pair.send(properties="DELAY\x015\x02WAIT\x01true")
    pair.core.advance(13_000)
    pair.kill(pair.master)
    restart(pair, pair.slave, brokerRole=ASYNC)
    assert pair.core.broker("broker-a") is pair.slave
    assert brokers_in_route(pair) == {0: pair.slave.addr}
    pair.producer = pair.peer(pair.slave)
    assert code(pair.send()) is OK
    pair.core.advance(60_000)  # delayed messages are delivered by the new master
    assert pair.slave.store.max_offset_in_queue("orders", 0) == 4
    restart(pair, pair.master, brokerRole="SLAVE", brokerId=1)
    pair.core.advance(15_000)
    assert same_log(pair.slave.store, pair.master.store)
    assert pair.master.store.max_phy_offset == pair.slave.store.max_phy_offset


def test_roles_decide_ids() -> None:
    pair = Replicated()
    with pytest.raises(ConfigError, match="Slave's brokerId must be > 0"):
        reconfigured(pair.master.config, {"brokerRole": "SLAVE"})
    assert reconfigured(pair.slave.config, {"brokerRole": SYNC}).broker_id == 0
    with pytest.raises(ConfigError, match="keeps its listenPort"):
        reconfigured(pair.slave.config, {"listenPort": 1})


def test_deleted_topic_is_listed_nowhere_although_slaves_have_it() -> None:
    pair = Replicated()
    pair.core.advance(13_000)
    changes.delete_topic(pair.core, "orders")
    assert pair.slave.topics.select("orders") is not None
    assert "orders" not in inspection.topics(pair.core)
    pair.kill(pair.master)
    assert "orders" in inspection.topics(pair.core)


# -- the cluster ----------------------------------------------------------------------------------


def test_reset_keeps_slaves_in_step() -> None:
    pair = Replicated(role=SYNC)
    pair.send()
    pair.core.reset()
    assert pair.offsets() == [0, 0]
    pair.producer = pair.peer(pair.master)
    assert code(pair.send()) is OK
    pair.assert_same()


def test_pause_of_the_master_is_harmless() -> None:
    pair = Replicated(role=SYNC)
    pair.master.pause()
    answer = pair.send()
    pair.core.advance(30_000)
    pair.master.resume()
    pair.core.network.settle()
    assert code(answer) is OK
    pair.core.advance(10_000)
    assert code(pair.send()) is OK
    assert [event.transferred for event in pair.core.journal.find(ReplicationWaited)] == [True] * 2
