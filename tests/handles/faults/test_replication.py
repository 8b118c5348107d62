"""Faults of replication: what they do, how long, and what is back when they are removed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import fakemq
from fakemq.errors import ConfigError
from fakemq.events import LinkClosed
from fakemq.events.faults import FaultHit
from fakemq.events.replication import MetadataSynchronized, SlaveReported, Transferred
from fakemq.handles.faults import Fault, Faults
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.offset import UpdateConsumerOffsetRequestHeader
from fakemq.protocol.layout.codecs import SLAVE_ACK, TRANSFER_HEADER
from tests.support.cluster_lab import NO_SLAVE, OK, SLAVE_TIMEOUT, ClusterLab
from tests.support.tcp import TcpPeer

MASTER, SLAVE = "broker-a-0", "broker-a-1"


def pair(**config: str) -> ClusterLab:
    return ClusterLab(slaves=1, role="SYNC_MASTER", config=config)


# -- holding a slave --------------------------------------------------------------------------


def test_held_slave_appends_nothing_and_stays_connected() -> None:
    with pair() as lab:
        assert lab.send(b"before") == OK
        at = lab.end_of(SLAVE)
        with lab.mq.faults.hold_slave(SLAVE) as fault:
            assert not fault.used
            assert lab.send(b"held", "3s") == SLAVE_TIMEOUT
            lab.mq.clock.advance("1m")
            assert lab.end_of(SLAVE) == at
            assert lab.send(b"held", "3s") == SLAVE_TIMEOUT
            assert fault.fired == 1
            assert lab.hits() == [f"what its master sends from offset {at} on"]
            assert lab.mq.journal.find(LinkClosed, node=MASTER, why="closed by the peer") == []
        assert lab.end_of(SLAVE) == lab.end_of(MASTER)
        assert lab.send(b"after") == OK


@pytest.mark.parametrize("bytes_more", [0, 1, 100, 1_000])
def test_slave_held_at_an_offset_has_everything_before_it(bytes_more: int) -> None:
    with pair() as lab:
        lab.send()
        limit = lab.end_of(SLAVE) + bytes_more
        with lab.mq.faults.hold_slave(SLAVE, at_offset=limit):
            for _ in range(7):
                lab.begin(b"y" * 100)
            lab.mq.clock.advance("1s")
            assert lab.end_of(SLAVE) == limit
            lab.mq.clock.advance("10s")
        assert lab.end_of(SLAVE) == lab.end_of(MASTER)
        assert lab.stored_bodies(SLAVE) == lab.stored_bodies(MASTER)


@pytest.mark.parametrize("order", [(50, 150), (150, 50)])
def test_smaller_offset_of_two_holds_counts(order: tuple[int, int]) -> None:
    with pair() as lab:
        lab.send()
        at = lab.end_of(SLAVE)
        holds = {
            bytes_more: lab.mq.faults.hold_slave(SLAVE, at_offset=at + bytes_more)
            for bytes_more in order
        }
        for _ in range(7):
            lab.begin(b"y" * 100)
        lab.mq.clock.advance("1s")
        for bytes_more in (50, 150):
            assert lab.end_of(SLAVE) == at + bytes_more
            assert holds[bytes_more].fired == 1
            holds[bytes_more].remove()
        assert lab.end_of(SLAVE) == lab.end_of(MASTER)


def test_hold_survives_restarts_and_a_distant_slave_counts_as_missing() -> None:
    with pair(haSlaveFallbehindMax="1000") as lab:
        lab.send()
        at = lab.end_of(SLAVE)
        with lab.mq.faults.hold_slave(SLAVE) as fault:
            lab.mq.broker(SLAVE).restart()
            lab.mq.clock.advance("15s")
            assert lab.send(b"x" * 500, "3s") == SLAVE_TIMEOUT
            assert lab.send(b"x" * 500, "3s") == NO_SLAVE
            assert (lab.end_of(SLAVE), fault.fired) == (at, 1)
            lab.mq.broker(SLAVE).pause()
        assert lab.end_of(SLAVE) == at  # it is removed, and the slave does not move
        lab.mq.broker(SLAVE).resume()
        lab.mq.clock.advance("0s")
        assert lab.send() == OK


def test_held_slave_leaves_transfers_at_its_master() -> None:
    with ClusterLab(slaves=1, config={"mappedFileSizeCommitLog": 32 << 20}) as lab:
        with lab.mq.faults.hold_slave(SLAVE):
            lab.mq.seed("orders", [bytes(1 << 20)] * 12)
            lab.mq.clock.advance("15s")
            client = lab.mq.inspect(lambda core: core.broker(SLAVE)).replication().client
            assert client is not None
            assert client.end is not None
            assert 3 << 20 < client.end.unfinished_bytes < 6 << 20
        lab.mq.clock.advance("1s")
        assert lab.end_of(SLAVE) == lab.end_of(MASTER)


# -- acknowledgements -------------------------------------------------------------------------


@pytest.mark.parametrize("broker", [SLAVE, "broker-a"])
def test_acks_are_withheld(broker: str) -> None:
    with pair() as lab:
        with lab.mq.faults.withhold_acks(broker) as fault:
            opaque = lab.begin()
            lab.mq.clock.advance("3s")
            assert lab.end(opaque) == SLAVE_TIMEOUT
            assert lab.end_of(SLAVE) == lab.end_of(MASTER)
            lab.mq.clock.advance("1m")
            assert lab.send(advance="3s") == SLAVE_TIMEOUT
            assert fault.used
            opaque = lab.begin()
        assert lab.end(opaque) == OK
        (last,) = lab.mq.journal.find(SlaveReported, offset=lab.end_of(MASTER), first=False)
        assert last.peer.startswith("memory:")


def test_acks_of_one_of_two_slaves_are_withheld() -> None:
    with ClusterLab(slaves=2, role="SYNC_MASTER") as lab, lab.mq.faults.withhold_acks(SLAVE):
        assert lab.send() == OK


# -- transfers --------------------------------------------------------------------------------


@pytest.mark.parametrize("at_byte", [0, 1, 12, 13, 60, 1_000_000])
def test_torn_transfer_is_sent_again(at_byte: int) -> None:
    with pair() as lab:
        lab.send()
        at = lab.end_of(SLAVE)
        lab.mq.clock.advance("20s")
        fault = lab.mq.faults.tear_transfer(SLAVE, at_byte=at_byte)
        opaque = lab.begin(b"torn")
        lab.mq.clock.advance("0s")
        assert lab.end_of(SLAVE) - at == (0 if at_byte <= 60 else lab.end_of(MASTER) - at)
        lab.mq.clock.advance("20s")
        lab.end(opaque)
        assert lab.end_of(SLAVE) == lab.end_of(MASTER)
        assert (fault.fired, fault.pending) == (1, False)
        assert lab.mq.journal.find(LinkClosed, node=MASTER, why="torn")
        (hit,) = [e.seq for e in lab.mq.journal if isinstance(e.event, FaultHit)]
        caused = [type(e.event) for e in lab.mq.journal if e.cause == hit]
        assert caused[0] is LinkClosed
        assert lab.send() == OK


def test_only_the_chosen_transfer_is_torn() -> None:
    with pair() as lab:
        fault = lab.mq.faults.tear_transfer("broker-a", at_byte=5, on_call=3)
        assert [lab.send() for _ in range(2)] == [OK, OK]
        assert fault.fired == 0
        assert lab.send(advance="3s") == SLAVE_TIMEOUT
        assert fault.fired == 1
        assert len(lab.mq.journal.find(Transferred)) == 2


# -- tables -----------------------------------------------------------------------------------


def commit(mq: fakemq.Cluster, offset: int) -> None:
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group="billing", topic="orders", queue_id=0, commit_offset=offset
    )
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        assert peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == OK


def test_stale_sync_answer_is_taken_after_a_newer_one() -> None:
    with pair() as lab:
        slave = lab.mq.inspect(lambda core: core.broker(SLAVE))
        known = []
        fault = lab.mq.faults.reorder_metadata(SLAVE, "offsets")
        for offset in (5, 9, 9):
            commit(lab.mq, offset)
            lab.mq.clock.advance_to_next("slave_sync")
            known.append(slave.offsets.query("billing", "orders", 0))
        assert known == [-1, 5, 9]
        assert lab.hits() == ["the master's answer to GET_ALL_CONSUMER_OFFSET"]
        assert not fault.pending


def test_late_topic_is_caused_by_the_fault() -> None:
    with pair() as lab:
        lab.mq.faults.reorder_metadata(SLAVE, "topics")
        lab.mq.create_topic("bills")
        lab.mq.clock.advance_to_next("slave_sync")
        slave = lab.mq.inspect(lambda core: core.broker(SLAVE))
        assert slave.topics.select("bills") is None
        lab.mq.create_topic("more")
        lab.mq.clock.advance_to_next("slave_sync")
        assert slave.topics.select("bills") is not None
        assert slave.topics.select("more") is None
        (hit,) = [e.seq for e in lab.mq.journal if isinstance(e.event, FaultHit)]
        took = [e.cause for e in lab.mq.journal if isinstance(e.event, MetadataSynchronized)]
        assert [cause == hit for cause in took[-2:]] == [False, True]
        lab.mq.clock.advance_to_next("slave_sync")
        assert slave.topics.select("more") is not None


# -- truncating -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("on_disk", [False, True])
def test_truncated_slave_continues_from_its_end(
    tmp_path_factory: pytest.TempPathFactory, how: str, on_disk: bool
) -> None:
    store = str(tmp_path_factory.mktemp("store")) if on_disk else "memory"
    with ClusterLab(slaves=1, role="SYNC_MASTER", store=store) as lab:
        ends = [lab.end_of(SLAVE)]
        for number in range(4):
            lab.send(b"%d" % number)
            ends.append(lab.end_of(SLAVE))
        fault = lab.mq.faults.truncate_slave(SLAVE, lose_bytes=ends[4] - ends[2] - 1)
        slave = lab.mq.broker(SLAVE)
        slave.stop() if how == "stop" else slave.kill()
        assert fault.used
        slave.restart()
        assert lab.end_of(SLAVE) == ends[2]
        store_of = lab.mq.inspect(lambda core: core.broker(SLAVE)).store
        assert store_of.max_offset_in_queue("orders", 0) == 2
        lab.mq.clock.advance("15s")
        assert lab.end_of(SLAVE) == lab.end_of(MASTER)
        assert lab.send() == OK


def test_truncation_works_at_once_and_to_the_beginning() -> None:
    with pair() as lab:
        lab.send()
        lab.mq.faults.truncate_slave(SLAVE, to_offset=0, at_once=True)
        assert lab.end_of(SLAVE) == 0
        lab.mq.clock.advance("15s")
        assert lab.end_of(SLAVE) == lab.end_of(MASTER)
        lab.mq.reset()
        assert lab.mq.faults.all() == []


# -- roles ------------------------------------------------------------------------------------


def test_old_master_that_was_ahead_never_agrees_again() -> None:
    """Nothing compares logs; the two have other bytes in one place, as in RocketMQ."""
    with pair() as lab:
        lab.send(b"a")
        lab.mq.broker(SLAVE).stop()
        assert lab.send(b"t") == NO_SLAVE
        lab.mq.broker(MASTER).kill()
        lab.mq.broker(SLAVE).promote("SYNC_MASTER")
        lab.connect(SLAVE)
        assert [lab.send(body) for body in (b"b", b"c")] == [NO_SLAVE] * 2
        lab.mq.broker(MASTER).demote(1)
        lab.mq.clock.advance("15s")
        assert lab.send(b"d") == OK
        assert lab.stored_bodies(MASTER) == [b"a", b"t", b"c", b"d"]
        assert lab.stored_bodies(SLAVE) == [b"a", b"b", b"c", b"d"]


def test_old_master_returns_before_the_slave_is_promoted() -> None:
    with pair() as lab:
        lab.send(b"a")
        lab.mq.broker(MASTER).demote(2)
        assert lab.mq.broker(MASTER).state == "running"
        lab.mq.broker(SLAVE).promote()
        lab.connect("broker-a")
        assert lab.send(b"b") == OK
        assert lab.mq.broker("broker-a").name == SLAVE
        lab.mq.clock.advance("30s")
        assert lab.end_of(MASTER) == lab.end_of(SLAVE)


# -- what makes no sense ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "place",
    [
        lambda faults: faults.hold_slave("broker-a"),
        lambda faults: faults.hold_slave(SLAVE, at_offset=-1),
        lambda faults: faults.tear_transfer(SLAVE, at_byte=-1),
        lambda faults: faults.reorder_metadata(SLAVE, "tpoics"),
        lambda faults: faults.truncate_slave(SLAVE),
        lambda faults: faults.truncate_slave(SLAVE, lose_bytes=-1),
    ],
)
def test_contradicting_options_are_refused(place: Callable[[Faults], Fault]) -> None:
    with ClusterLab(slaves=1) as lab:
        with pytest.raises(ConfigError):
            place(lab.mq.faults)
        assert lab.mq.faults.all() == []


def test_broker_that_is_no_slave_is_refused_with_the_slaves_names() -> None:
    with ClusterLab(masters=2, slaves=1) as lab:
        slaves = "broker-a-0 is no slave; there are: broker-a-1, broker-b-1"
        with pytest.raises(ConfigError, match=slaves):
            lab.mq.faults.truncate_slave("broker-a", lose_bytes=1)


def test_frame_sizes_are_those_of_replication() -> None:
    assert (TRANSFER_HEADER.size, SLAVE_ACK.size) == (12, 8)
