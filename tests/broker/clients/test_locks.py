"""Queue locks: leases of 60 s on the axis of their owner."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.broker.broker import Broker
from fakemq.broker.clients.locks import REBALANCE_LOCK_MAX_LIVE_TIME_MS
from fakemq.clock.slices import finished
from fakemq.events import QueuesLocked
from fakemq.protocol.bodies.queue import MessageQueue
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, consume
from tests.support.peer import Peer

QUEUES = [MessageQueue(topic="orders", broker_name="broker-a", queue_id=n) for n in range(4)]


def lock(
    broker: Broker, peer: Peer, client_id: str, *queue_ids: int, group: str = GROUP
) -> list[int]:
    session = next(s for s in broker.sessions if s.remote_addr == peer.session.link.local_addr)
    queues = [QUEUES[n] for n in queue_ids]
    locked = finished(broker.locks.try_lock_batch(group, queues, client_id, session))
    return [queue.queue_id for queue in locked]


def test_lock_excludes_other_clients_of_its_group_only(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    assert lock(broker, peer, "one", 0, 1) == [0, 1]
    assert lock(broker, peer, "two", 0, 1, 2) == [2]
    assert lock(broker, peer, "one", 0, 1, 2) == [0, 1]
    assert lock(broker, peer, "two", 0, group="another") == [0]


def test_lock_expires_60_s_after_its_last_renewal(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    lock(broker, peer, "one", 0, 1)
    lab.clock.advance("30s")
    lock(broker, peer, "one", 1)
    lab.clock.advance("30s")
    assert lock(broker, peer, "two", 0, 1) == []
    lab.clock.advance(0.001)
    assert lock(broker, peer, "two", 0, 1) == [0]
    assert broker.locks.snapshot() == {GROUP: {QUEUES[0]: "two", QUEUES[1]: "one"}}


def test_client_unlocks_only_its_own_queues(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    lock(broker, peer, "one", 0)
    lock(broker, peer, "two", 1)
    broker.locks.unlock_batch(GROUP, QUEUES, "one")
    broker.locks.unlock_batch("absent", QUEUES, "one")
    assert broker.locks.snapshot() == {GROUP: {QUEUES[1]: "two"}}
    events = [(e.client_id, e.count, e.how) for e in lab.journal.find(QueuesLocked)]
    assert events == [
        ("one", 1, "locked"),
        ("two", 1, "locked"),
        ("one", 1, "unlocked"),
        ("one", 0, "unlocked"),
    ]


def test_lock_outlives_its_connection(lab: BrokerLab, broker: Broker) -> None:
    peer, other = lab.peer(broker.addr), lab.peer(broker.addr)
    lock(broker, peer, "one", 0)
    peer.close()
    assert lock(broker, other, "two", 0) == []


def test_clock_jump_frees_no_lock_of_an_outside_consumer(lab: BrokerLab, broker: Broker) -> None:
    outside, inside = lab.outside_peer(broker), lab.peer(broker.addr)
    lock(broker, outside, "jvm", 0)
    lock(broker, inside, "python", 1)
    lab.clock.advance("61s")
    assert broker.locks.snapshot() == {GROUP: {QUEUES[0]: "jvm"}}
    lab.outside_time_passes(60_000)
    other = lab.peer(broker.addr)
    assert lock(broker, other, "python", 0) == []
    lab.outside_time_passes(1)
    assert lock(broker, other, "python", 0) == [0]


def test_reset_keeps_the_locks_of_members_only(lab: BrokerLab, broker: Broker) -> None:
    member, stranger = lab.peer(broker.addr), lab.peer(broker.addr)
    consume(member, "member")
    lock(broker, member, "member", 0)
    lock(broker, stranger, "stranger", 1)
    lock(broker, stranger, "stranger", 0, group="another")
    broker.reset()
    assert broker.locks.snapshot() == {GROUP: {QUEUES[0]: "member"}}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["lock", "unlock", "wait"]),
        st.sampled_from(["one", "two", "three"]),
        st.lists(st.integers(0, 3), unique=True),
        st.sampled_from([1, 20_000, 59_999, 60_000]),
    ),
    max_size=30,
)


@settings(deadline=None, max_examples=60)
@given(STEPS)
def test_queue_has_never_two_owners(
    steps: list[tuple[str, str, list[int], int]],
) -> None:
    lab = BrokerLab()
    broker = lab.broker()
    peer = lab.peer(broker.addr)
    model: dict[int, tuple[str, int]] = {}  # queue → owner, when taken
    now_ms = 0
    for what, client_id, queue_ids, wait_ms in steps:
        if what == "wait":
            now_ms += wait_ms
            lab.time.passed_ms += wait_ms  # so that no session is closed for being idle
            lab.clock.advance(wait_ms / 1000)
            if peer.closed:
                peer = lab.peer(broker.addr)
        elif what == "lock":
            expected = []
            for queue_id in queue_ids:
                owner, taken_ms = model.get(queue_id, ("", 0))
                alive = now_ms - taken_ms <= REBALANCE_LOCK_MAX_LIVE_TIME_MS
                if owner in ("", client_id) or not alive:
                    model[queue_id] = (client_id, now_ms)
                    expected.append(queue_id)
            assert lock(broker, peer, client_id, *queue_ids) == expected
        else:
            broker.locks.unlock_batch(GROUP, [QUEUES[n] for n in queue_ids], client_id)
            for queue_id in queue_ids:
                if model.get(queue_id, ("", 0))[0] == client_id:
                    del model[queue_id]
