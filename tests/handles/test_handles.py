"""Handles ask again each time, and say what they are; snapshots say what they hold."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from fakemq.cluster import Cluster
from fakemq.core.views import Deadline, Delivery, Member, Queue
from fakemq.errors import ConfigError
from fakemq.events import BrokerGone, LogAppended
from fakemq.events.replication import ReportBelieved
from fakemq.handles.values import Message
from fakemq.protocol.bodies.heartbeat import ConsumerData, HeartbeatData
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.offset import UpdateConsumerOffsetRequestHeader
from tests.support.tcp import TcpPeer

START = "2024-02-29T12:00:00Z"


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with Cluster(clock="frozen", start_at=START, topics={"orders": 2}) as cluster:
        yield cluster


@pytest.fixture
def mq(running: Cluster) -> Cluster:
    running.reset()
    return running


# -- the clock --------------------------------------------------------------------------------


def test_clock_is_read_as_a_datetime(mq: Cluster) -> None:
    assert mq.clock.now() == datetime(2024, 2, 29, 12, tzinfo=UTC)
    assert mq.clock.now_ms() == 1_709_208_000_000
    assert mq.clock.frozen
    assert repr(mq.clock) == "<clock frozen at 2024-02-29T12:00:00.000+00:00>"


def test_running_clock_advances(mq: Cluster) -> None:
    mq.clock.unfreeze()
    assert not mq.clock.frozen
    assert repr(mq.clock).startswith("<clock running at 2024-02-29T12:00:0")


def test_advance_returns_fired_deadlines_in_order(mq: Cluster) -> None:
    mq.clock.advance("1m")
    fired = mq.clock.advance("90s")
    assert mq.clock.now() == datetime(2024, 2, 29, 12, 2, 30, tzinfo=UTC)
    assert [one.kind for one in fired].count("register_broker") == 3
    assert {one.owner for one in fired} >= {"broker-a-0", "namesrv-0"}
    assert {one.due_in_ms for one in fired} == {0}
    assert mq.clock.advance(0) == []


@pytest.mark.parametrize("duration", ["2h", 7200, 7200.0, timedelta(hours=2)])
def test_advance_takes_duration_texts(mq: Cluster, duration: str | float | timedelta) -> None:
    before_ms = mq.clock.now_ms()
    mq.clock.advance(duration)
    assert mq.clock.now_ms() - before_ms == 7_200_000


def test_advance_to_takes_an_instant(mq: Cluster) -> None:
    mq.clock.advance_to("2024-02-29T13:00:00Z")
    assert mq.clock.now().hour == 13
    mq.clock.advance_to(datetime(2024, 3, 1, tzinfo=UTC))
    assert mq.clock.now().day == 1
    with pytest.raises(ValueError, match="time does not go back"):
        mq.clock.advance_to(START)
    with pytest.raises(ConfigError, match="advance_to='noon'"):
        mq.clock.advance_to("noon")


def test_advance_to_next_takes_a_kind(mq: Cluster) -> None:
    fired = mq.clock.advance_to_next("register_broker")
    assert fired[-1].kind == "register_broker"
    assert mq.clock.now_ms() <= 1_709_208_000_000 + 30_000
    with pytest.raises(LookupError, match=r"no 'rpc_timeout' is pending; pending are: .*register"):
        mq.clock.advance_to_next("rpc_timeout")


def test_advance_to_next_fires_overdue_timers(mq: Cluster) -> None:
    mq.clock.unfreeze()
    with mq.clock.hold("so that it is late"):
        mq.inspect(
            lambda core: core.clock.call_later(0, lambda: None, kind="rpc_timeout", owner="test")
        )
        while mq.clock.timers()[0].due_in_ms == 0:
            pass  # a millisecond of real time
        assert mq.clock.advance_to_next("rpc_timeout")[0].owner == "test"


def test_timers_are_sorted_by_deadline(mq: Cluster) -> None:
    pending = mq.clock.timers()
    assert [one.due_in_ms for one in pending] == sorted(one.due_in_ms for one in pending)
    assert {one.kind for one in pending} >= {"register_broker", "broker_expiry"}
    assert not any(one.outside for one in pending)


def test_outside_peer_does_not_age_with_advance(mq: Cluster) -> None:
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        peer.ask(RequestCode.GET_BROKER_CONFIG)
        mq.clock.advance("2h")
        assert peer.ask(RequestCode.GET_BROKER_CONFIG).code == 0
        fired = mq.clock.advance("121s", outside_peers=True)
        assert any(one.outside and one.kind == "channel_idle" for one in fired)
        assert peer.at_end()


def test_hold_stops_timers_of_the_running_clock(mq: Cluster) -> None:
    fired = threading.Event()
    mq.clock.unfreeze()
    with mq.clock.hold("looking around") as hold:
        assert repr(hold) == "<the clock is held: looking around>"
        mq.inspect(
            lambda core: core.clock.call_later(0, fired.set, kind="rpc_timeout", owner="test")
        )
        assert mq.journal.tail()
        assert not fired.is_set()
    assert fired.wait(30), "releasing must wake the cluster's thread"


def test_reset_ends_a_forgotten_hold(mq: Cluster) -> None:
    forgotten = mq.clock.hold("never released")
    mq.reset()
    with mq.clock.hold("never released"):
        forgotten.release()
        assert mq.inspect(lambda core: core.clock.next_due_in_ms()) is None


# -- brokers, groups, faults, journal ---------------------------------------------------------


def test_broker_handle_shows_address_and_state(mq: Cluster) -> None:
    broker = mq.broker("broker-a")
    host, port = broker.addr.split(":")
    assert broker.vip_addr == f"{host}:{int(port) - 2}"
    assert broker.ha_addr == f"{host}:{int(port) + 1}"
    assert repr(broker) == f"<broker broker-a-0 at {broker.addr}, running>"
    broker.pause()
    assert repr(broker).endswith(", paused>")
    broker.resume()
    broker.kill()
    assert repr(mq.broker("broker-a")).endswith(", stopped>")


def test_group_handle_shows_members_offsets_and_lag(mq: Cluster) -> None:
    group = mq.group("billing")
    mq.seed("orders", [b"one", b"two", b"three"])
    assert (group.lag("orders"), group.offsets("orders"), group.members()) == (3, {}, [])
    assert repr(group) == "<group billing, 0 members>"
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        consumer = ConsumerData(
            group_name="billing",
            consume_type="CONSUME_PASSIVELY",
            message_model="CLUSTERING",
            consume_from_where="CONSUME_FROM_LAST_OFFSET",
        )
        beat = HeartbeatData(client_id="me", consumer_data_set=[consumer])
        assert peer.ask(RequestCode.HEART_BEAT, body=beat.encode()).code == 0
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group="billing", topic="orders", queue_id=0, commit_offset=2
        )
        assert peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == 0
        (member,) = group.members()
        host, port = peer.sock.getsockname()
        assert member == Member("me", f"{host}:{port}")
        assert repr(group) == "<group billing, 1 member>"
    assert group.offsets("orders") == {("broker-a", 0): 2}
    assert group.lag("orders") == 1


def test_faults_are_listed(mq: Cluster) -> None:
    assert repr(mq.faults) == "<faults []>"
    fault = mq.faults.silence("broker-a")
    assert repr(fault) == "<fault 1 silence broker-a-0, always, fired 0 times, pending>"
    assert repr(mq.faults) == f"<faults [{fault!r}]>"
    assert (fault.placed, fault.used, len(mq.faults.unused())) == (True, False, 1)
    mq.clock.advance("131s")
    assert fault.fired in (5, 6)  # as the last registration was just before, or not
    assert mq.faults.unused() == []
    assert mq.journal.find(BrokerGone)
    fault.remove()
    fault.remove()
    assert repr(fault).endswith(f"always, fired {fault.fired} times, removed>")
    assert mq.faults.placed() == []
    with pytest.raises(LookupError, match="no broker 'broker-z'"):
        mq.faults.silence("broker-z")


def believed_by(mq: Cluster, number: int) -> bool:
    return len(mq.journal.find(ReportBelieved, node="broker-a-0")) == number


def test_believing_slave_reports_is_a_fault(mq: Cluster) -> None:
    fault = mq.faults.believe_reports("broker-a")
    assert (fault.used, len(mq.faults.unused())) == (False, 1)
    for number in (1, 2):
        with TcpPeer(mq.broker("broker-a").ha_addr) as slave:
            slave.sock.sendall((1 << 60).to_bytes(8))
            mq.wait_for(partial(believed_by, mq, number), timeout="5s")
        mq.broker("broker-a").restart()
    assert fault.used
    fault.remove()
    with TcpPeer(mq.broker("broker-a").ha_addr) as slave:
        slave.sock.sendall((1 << 60).to_bytes(8))
        assert slave.at_end()
    mq.faults.believe_reports("broker-a")
    mq.reset()
    assert mq.faults.placed() == []


def test_journal_handle_finds_entries(mq: Cluster) -> None:
    mq.seed("orders", [b"one", b"two"], keys="k")
    assert len(mq.journal.find(LogAppended)) == 2
    assert [one.queue_offset for one in mq.journal.find(LogAppended, queue_id=1)] == [0]
    assert mq.journal.find(LogAppended, queue_id=7) == []
    entries = list(mq.journal)
    assert [entry.seq for entry in entries] == list(range(1, len(mq.journal) + 1))
    assert mq.journal.tail(2) == entries[-2:]
    assert repr(mq.journal) == f"<journal of {len(entries)} entries, last seq {len(entries)}>"


# -- snapshots --------------------------------------------------------------------------------


def test_repr_of_values_shows_their_fields() -> None:
    delivery = Delivery("billing", "127.0.0.1:5", 7)
    message = Message(
        topic="orders", broker="broker-a", queue_id=1, offset=2, body=b"x" * 50, tags="", keys="",
        properties={}, msg_id="ID", offset_msg_id="OFF", born_timestamp_ms=1, store_timestamp_ms=2,
        born_host="h", store_host="s:1", sys_flag=0, reconsume_times=0, commit_log_offset=0,
        deliveries=(delivery,),
    )  # fmt: skip
    assert repr(message) == (
        f"<message ID in orders broker-a/1@2 {b'x' * 37 + b'...'!r} delivered 1 time>"
    )
    assert repr(delivery) == "Delivery(group='billing', peer='127.0.0.1:5', at_ms=7)"
    assert repr(Queue("orders", "broker-a", 0, 1, 2)) == (
        "Queue(topic='orders', broker='broker-a', queue_id=0, min_offset=1, max_offset=2)"
    )
    assert repr(Deadline("pull_hold", "broker-a-0", 5, "liveness", False)) == (
        "Deadline(kind='pull_hold', owner='broker-a-0', due_in_ms=5, domain='liveness',"
        " outside=False, at_ms=0)"
    )
    assert repr(Member("me", "127.0.0.1:5")) == "Member(client_id='me', peer='127.0.0.1:5')"
    with pytest.raises(AttributeError):
        delivery.at_ms = 8  # type: ignore[misc]
