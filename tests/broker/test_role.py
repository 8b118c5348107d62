"""A running broker that becomes a slave, and its slave that becomes the master; and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakemq.broker.broker import Broker
from fakemq.events.core import RoleChanged
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import MessageExt
from fakemq.protocol.topics import SCHEDULE_TOPIC
from fakemq.reference import NAMES
from tests.support.broker_lab import send_header
from tests.support.clients import beat
from tests.support.pops import Popped, pop
from tests.support.replication import SYNC, Replicated, same_log
from tests.support.transactions import PRODUCERS, asked, send_half

TOPIC = "orders"
KNOWN_MS = 75_000
"""After this, both brokers have registered, are connected, and the slave has the tables."""
ONLY_MASTERS = {"txn_check", "delay_level_1", "delay_level_5", "timer", "pop_revive"}
"""Deadlines of what only a master does."""


@pytest.fixture(params=[*NAMES, "a directory"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Replicated]:
    """In memory with each reference, and one on disk."""
    if request.param == "a directory":
        made = Replicated(reference="5.5.0", store=tmp_path)
    else:
        made = Replicated(reference=request.param)
    yield made
    made.core.stop()


@pytest.fixture
def pair5() -> Replicated:
    return Replicated(reference="5.5.0")


def swap(pair: Replicated, old: Broker, new: Broker) -> None:
    """Make the master ``old`` the slave of ``new``, which was its slave."""
    pair.core.advance(15_000)  # the slave has everything
    old.role.become("SLAVE", 1)
    new.role.become("ASYNC_MASTER")
    pair.core.network.settle()
    pair.core.advance(KNOWN_MS)


def send(pair: Replicated, broker: Broker, body: bytes, properties: str = "") -> None:
    header = send_header(TOPIC, properties=f"UNIQ_KEY\x01{body.decode()}\x02{properties}")
    assert pair.peer(broker).ask(RequestCode.SEND_MESSAGE_V2, header, body).code == 0


def messages(broker: Broker, topic: str = TOPIC) -> list[MessageExt]:
    return list(broker.store.messages_in_queue(topic, 0))


def bodies(broker: Broker) -> list[bytes]:
    return [message.body for message in messages(broker)]


def duties(pair: Replicated, broker: Broker) -> set[str]:
    """What a broker waits for that only masters do."""
    timers = {timer.kind for timer in pair.core.clock.timers() if timer.owner == broker.name}
    return timers & ONLY_MASTERS


# -- replication ------------------------------------------------------------------------------


def test_roles_change_there_and_back_without_a_loss(pair: Replicated) -> None:
    one, two = pair.master, pair.slave
    send(pair, one, b"a")
    swap(pair, one, two)
    assert (one.role.name, two.role.name) == ("SLAVE", "ASYNC_MASTER")
    assert (one.config.broker_id, two.config.broker_id) == (1, 0)
    send(pair, two, b"b")
    pair.core.advance(1_000)
    assert bodies(one) == bodies(two) == [b"a", b"b"]
    swap(pair, two, one)
    send(pair, one, b"c")
    pair.core.advance(1_000)
    assert bodies(one) == bodies(two) == [b"a", b"b", b"c"]
    assert same_log(one.store, two.store)
    assert [message.queue_offset for message in messages(one)] == [0, 1, 2]


def test_slave_takes_no_messages_and_master_does(pair: Replicated) -> None:
    one, two = pair.master, pair.slave
    swap(pair, one, two)
    refused = pair.peer(one).ask(RequestCode.SEND_MESSAGE_V2, send_header(TOPIC), b"x")
    assert refused.code != 0
    send(pair, two, b"y")


def test_clients_stay_connected(pair: Replicated) -> None:
    send(pair, pair.master, b"a")
    swap(pair, pair.master, pair.slave)
    assert not pair.producer.closed


def test_route_names_the_new_master(pair: Replicated) -> None:
    one, two = pair.master, pair.slave
    swap(pair, one, two)
    table = pair.core.name_servers[0].tables.broker_addr_table
    assert table["broker-a"].broker_addrs == {0: two.addr, 1: one.addr}


def test_sync_master_waits_for_the_slave_that_was_its_master() -> None:
    pair = Replicated(role=SYNC)
    one, two = pair.master, pair.slave
    pair.core.advance(15_000)
    one.role.become("SLAVE", 1)
    two.role.become(SYNC)
    pair.core.network.settle()
    pair.core.advance(KNOWN_MS)
    send(pair, two, b"a")  # else: SLAVE_NOT_AVAILABLE
    assert bodies(one) == [b"a"]


def test_half_record_is_cut_before_the_first_put(pair: Replicated) -> None:
    send(pair, pair.master, b"a")
    pair.core.advance(15_000)
    slave = pair.slave
    ha = slave.replication()
    assert ha.client is not None
    whole = slave.store.max_phy_offset
    record = pair.master.store.log.read_from(0)
    assert record is not None
    ha.client.replica.append(whole, bytes(record[:40]))
    assert slave.store.max_phy_offset == whole + 40
    slave.role.become("ASYNC_MASTER")
    assert slave.store.max_phy_offset == whole
    send(pair, slave, b"b")
    assert bodies(slave) == [b"a", b"b"]


def test_new_master_has_everything_after_a_restart(pair: Replicated) -> None:
    one, two = pair.master, pair.slave
    send(pair, one, b"a")
    swap(pair, one, two)
    send(pair, two, b"b")
    pair.core.advance(15_000)
    for broker in (two, one):
        pair.stop(broker)
        pair.start(broker)
    pair.core.advance(KNOWN_MS)
    assert (one.role.name, two.role.name) == ("SLAVE", "ASYNC_MASTER")
    assert bodies(one) == bodies(two) == [b"a", b"b"]
    send(pair, two, b"c")
    pair.core.advance(1_000)
    assert bodies(one) == bodies(two) == [b"a", b"b", b"c"]


# -- what only masters do ---------------------------------------------------------------------


def test_delayed_message_is_delivered_by_the_new_master(pair: Replicated) -> None:
    one, two = pair.master, pair.slave
    send(pair, one, b"later", "DELAY\x015")  # a minute
    pair.core.advance(16_000)
    assert duties(pair, one) == {"txn_check", "delay_level_5"}
    assert duties(pair, two) == set()
    one.role.become("SLAVE", 1)
    two.role.become("ASYNC_MASTER")
    assert duties(pair, one) == set()
    assert duties(pair, two) == {"txn_check", "delay_level_5"}
    pair.core.network.settle()
    pair.core.advance(KNOWN_MS)
    assert bodies(two) == bodies(one) == [b"later"]
    assert len(messages(two, SCHEDULE_TOPIC)) <= 1


def test_transaction_is_checked_by_the_new_master(pair: Replicated) -> None:
    one, two = pair.master, pair.slave
    send_half(pair.peer(one))
    swap(pair, one, two)
    at_one, at_two = pair.peer(one), pair.peer(two)
    for peer in (at_one, at_two):
        beat(peer, "p", producers=[PRODUCERS])
    pair.core.advance(60_000)
    assert asked(at_one) == []
    assert asked(at_two)[0].message.body == b"body"


def test_timer_message_is_delivered_by_the_new_master(pair5: Replicated) -> None:
    one, two = pair5.master, pair5.slave
    send(pair5, one, b"timed", "TIMER_DELAY_SEC\x01100")
    pair5.core.advance(16_000)
    assert "timer" in duties(pair5, one)
    assert "timer" not in duties(pair5, two)
    swap(pair5, one, two)
    assert "timer" not in duties(pair5, one)
    pair5.core.advance(60_000)
    assert bodies(two) == bodies(one) == [b"timed"]


def test_popped_message_is_revived_by_the_new_master(pair5: Replicated) -> None:
    one, two = pair5.master, pair5.slave
    send(pair5, one, b"popped")
    assert Popped(pop(pair5.peer(one), invisible_time=200_000)).bodies == [b"popped"]
    pair5.core.advance(65_000)  # the slave has the offsets
    swap(pair5, one, two)
    assert "pop_revive" not in duties(pair5, one)
    assert "pop_revive" in duties(pair5, two)
    pair5.core.advance(60_000)
    assert Popped(pop(pair5.peer(two))).bodies == [b"popped"]


# -- the change -------------------------------------------------------------------------------


def test_change_is_in_the_journal(pair: Replicated) -> None:
    pair.slave.role.become("SYNC_MASTER")
    changed = RoleChanged(node="broker-a-1", role="SYNC_MASTER", broker_id=0)
    assert pair.core.journal.find(RoleChanged) == [changed]


@pytest.mark.parametrize(("role", "broker_id"), [("SLAVE", 0), ("ASYNC_MASTER", 1)])
def test_id_of_another_role_is_refused(pair: Replicated, role: str, broker_id: int) -> None:
    with pytest.raises(ValueError, match=f"brokerId={broker_id}"):
        pair.master.role.become(role, broker_id)  # type: ignore[arg-type]
    assert pair.master.role.name == "ASYNC_MASTER"


def test_broker_that_is_down_keeps_its_role(pair: Replicated) -> None:
    pair.kill(pair.slave)
    with pytest.raises(ValueError, match="broker-a-1 is stopped: expected a running broker"):
        pair.slave.role.become("ASYNC_MASTER")
    assert pair.slave.role.is_slave


def test_reset_returns_to_the_role_of_the_start(pair: Replicated) -> None:
    pair.slave.role.become("ASYNC_MASTER")
    pair.slave.reset()
    assert pair.slave.role.is_slave
    assert duties(pair, pair.slave) == set()


# -- duties without the role ------------------------------------------------------------------


def test_lowest_slave_has_the_duties_of_a_master(pair5: Replicated) -> None:
    slave = pair5.slave
    send(pair5, pair5.master, b"late", "DELAY\x015\x02")
    pair5.core.advance(15_000)
    assert not duties(pair5, slave)
    slave.role.be_lowest(True)
    assert slave.role.is_slave
    assert slave.role.acts_as_master
    assert {"txn_check", "delay_level_5"} <= duties(pair5, slave)
    slave.role.be_lowest(False)
    assert not duties(pair5, slave)


def test_master_that_is_not_the_lowest_has_no_duties(pair5: Replicated) -> None:
    master = pair5.master
    master.role.be_lowest(False)
    assert not duties(pair5, master)
    assert not master.role.acts_as_master
    send(pair5, master, b"taken nevertheless")
    master.role.be_lowest(True)
    assert "txn_check" in duties(pair5, master)


def test_rank_ends_with_the_role(pair5: Replicated) -> None:
    pair5.slave.role.be_lowest(True)
    pair5.slave.role.become("SLAVE", 2)
    assert not pair5.slave.role.has_duties
