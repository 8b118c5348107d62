"""Pops at a slave: it returns messages, stores no checkpoint, and soon forgets the pop."""

from __future__ import annotations

import pytest

from fakemq.broker.v5.pop.offsets import SLAVE_KEEPS_MS
from fakemq.store.consumequeue import ConsumeQueue
from tests.support.broker_lab import broker5
from tests.support.form import pure_only
from tests.support.peer import Peer
from tests.support.pops import GROUP, TOPIC, Popped, ack, held_pops, long_pop, pop, send
from tests.support.replication import Replicated


@pytest.fixture
def pair() -> Replicated:
    return Replicated(reference="5.5.0")


@pytest.fixture
def at_slave(pair: Replicated) -> Peer:
    """A client of a slave which has the messages ``a`` and ``b``."""
    for body in (b"a", b"b"):
        send(pair.producer, body)
    pair.core.advance(SLAVE_KEEPS_MS)
    assert pair.slave.store.max_offset_in_queue(TOPIC, 0) == 2
    return pair.peer(pair.slave)


def test_pop_at_a_slave_continues_behind_the_last_one(pair: Replicated, at_slave: Peer) -> None:
    assert Popped(pop(at_slave, max_msg_nums=1)).bodies == [b"a"]
    pair.core.advance(SLAVE_KEEPS_MS - 1)
    assert Popped(pop(at_slave, max_msg_nums=1)).bodies == [b"b"]
    assert pop(at_slave).remark == "NO_MESSAGE_IN_QUEUE"


def test_slave_forgets_its_pops(pair: Replicated, at_slave: Peer) -> None:
    assert Popped(pop(at_slave)).bodies == [b"a", b"b"]
    pair.core.advance(SLAVE_KEEPS_MS)
    assert Popped(pop(at_slave)).bodies == [b"a", b"b"]
    assert pair.slave.offsets.query(GROUP, TOPIC, 0) == 0


def test_slave_keeps_no_checkpoint(pair: Replicated, at_slave: Peer) -> None:
    for _ in range(3):
        assert Popped(pop(at_slave)).bodies == [b"a", b"b"]
        assert broker5(pair.slave).pop.log.refused == []
        assert "disk_retry" not in {timer.kind for timer in pair.core.clock.timers()}
        pair.core.advance(SLAVE_KEEPS_MS)


def test_slave_commits_nothing_that_a_pop_passes_over(pair: Replicated, at_slave: Peer) -> None:
    assert pop(at_slave, exp="none", exp_type="TAG").remark == "NO_MESSAGE_IN_QUEUE"
    assert pair.slave.offsets.query(GROUP, TOPIC, 0) == 0
    assert pop(at_slave).remark == "NO_MESSAGE_IN_QUEUE"
    pair.core.advance(SLAVE_KEEPS_MS)
    assert Popped(pop(at_slave)).bodies == [b"a", b"b"]


def test_master_pops_what_was_popped_at_its_slave_and_acknowledged(
    pair: Replicated, at_slave: Peer
) -> None:
    popped = Popped(pop(at_slave))
    for message in popped.messages:
        assert ack(pair.producer, popped, message).code == 0
    assert Popped(pop(pair.producer)).bodies == [b"a", b"b"]


def test_broker_that_is_no_slave_any_more_commits_its_pops(
    pair: Replicated, at_slave: Peer
) -> None:
    assert Popped(pop(at_slave)).bodies == [b"a", b"b"]
    pair.kill(pair.master)
    pair.slave.store.role.take("ASYNC_MASTER")
    assert Popped(pop(at_slave)).bodies == [b"a", b"b"]
    assert pair.slave.offsets.query(GROUP, TOPIC, 0) == 2


@pure_only
def test_pop_of_a_queue_that_lacks_a_file_is_held(
    at_slave: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []

    def no_file(queue: ConsumeQueue, offset: int) -> None:
        reads.append(offset)
        assert len(reads) < 50, "the pop wakes itself again and again"

    monkeypatch.setattr(ConsumeQueue, "units_from", no_file)
    long_pop(at_slave)
    assert held_pops(at_slave) == 1
    assert set(reads) == {0}
