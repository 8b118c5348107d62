"""How the queues of an ordered consumer are locked, and dropped."""

from __future__ import annotations

from collections.abc import Sequence

from fakemq.client.consuming.received import ReceivedMessage
from fakemq.client.errors import RemotingConnectError
from fakemq.protocol.bodies.queue import LockBatchRequestBody, MessageQueue
from fakemq.protocol.codes import RequestCode
from tests.support.played_broker import CLIENT, PlayedBroker
from tests.support.push_lab import PushLab, React
from tests.support.scripted_operation import answer

Messages = Sequence[ReceivedMessage]
OTHER = "10.0.0.9@1"


def fail(_: Messages) -> None:
    raise ValueError("no")


def ordered(broker: PlayedBroker, react: React | None = None, /, **options: object) -> PushLab:
    return PushLab(broker, react, ordered=True, **options).start()


def committed(lab: PushLab, queue_id: int = 0) -> int | None:
    """What is committed when all offsets are persisted now."""
    lab.carrier.run(lab.core.persist_offsets())
    return lab.broker.committed(queue_id)


def asked_for(lab: PushLab, code: int) -> list[list[MessageQueue]]:
    """The queues of each request for locks."""
    return [
        sorted(LockBatchRequestBody.decode(one.command.body).mq_set)
        for one in lab.carrier.calls
        if one.command.code == code
    ]


def test_queue_is_locked_before_it_is_taken() -> None:
    broker = PlayedBroker(queues=2)
    broker.locks[broker.queue(1)] = OTHER
    lab = ordered(broker)
    assert lab.owned() == [broker.queue(0)]
    assert broker.locks[broker.queue(0)] == CLIENT
    del broker.locks[broker.queue(1)]
    lab.advance(20_000)
    assert lab.owned() == [broker.queue(0), broker.queue(1)]


def test_locks_are_renewed_after_one_second_and_then_every_twenty() -> None:
    lab = ordered(PlayedBroker())
    lab.carrier.calls.clear()
    lab.advance(999)
    assert asked_for(lab, RequestCode.LOCK_BATCH_MQ) == []
    lab.advance(1)
    everything = sorted(lab.core.queues)
    assert asked_for(lab, RequestCode.LOCK_BATCH_MQ) == [everything]
    lab.advance(40_000)
    assert asked_for(lab, RequestCode.LOCK_BATCH_MQ) == [everything] * 3


def test_queue_that_another_member_has_locked_is_not_consumed_until_it_is_had_again() -> None:
    broker = PlayedBroker()
    lab = ordered(broker)
    broker.locks[broker.queue()] = OTHER
    lab.advance(1_000)
    lab.put(b"0")
    lab.advance(15_000)
    assert lab.consumed == []
    del broker.locks[broker.queue()]
    lab.advance(10_000)
    assert lab.consumed == [b"0"]


def test_queue_whose_lock_cannot_be_renewed_is_not_consumed_after_thirty_seconds() -> None:
    broker = PlayedBroker()
    lab = ordered(broker)
    lab.advance(1_000)
    broker.answers[RequestCode.LOCK_BATCH_MQ] = lambda call: RemotingConnectError(call.addr)
    lab.advance(30_000)
    lab.put(b"in time")
    lab.advance(1)
    lab.put(b"late")
    lab.advance(5_000)
    assert lab.consumed == [b"in time"]
    broker.answers.clear()
    lab.advance(5_000)
    assert lab.consumed == [b"in time", b"late"]


def test_first_pull_asks_for_the_offset_again() -> None:
    broker = PlayedBroker()
    answered = iter([answer(offset=0), answer(offset=2)])  # another member commits in between
    broker.answers[RequestCode.QUERY_CONSUMER_OFFSET] = lambda call: (
        next(answered) if call.command.ext_fields["topic"] == "orders" else None
    )
    for one in range(4):
        broker.put(b"%d" % one)
    assert ordered(broker).consumed == [b"2", b"3"]


def test_queue_that_is_not_locked_is_not_pulled_from() -> None:
    broker = PlayedBroker()
    lab = ordered(broker)
    lab.core.queues[broker.queue()].locked = False
    lab.put(b"0")
    pulls = len(broker.pulls)
    lab.put(b"1")
    assert (len(broker.pulls), lab.consumed) == (pulls, [])
    lab.advance(5_000)
    assert lab.consumed == [b"0", b"1"]


def test_shutdown_unlocks_all_queues_after_their_offsets_are_committed() -> None:
    broker = PlayedBroker(queues=2)
    lab = ordered(broker)
    lab.put(b"0")
    before = len(lab.carrier.calls)
    lab.carrier.run(lab.core.shutdown())
    assert broker.locks == {}
    codes = lab.carrier.codes()[before:]
    assert codes == [15, 15, 15, 42, 35]


def test_broadcast_consumer_locks_nothing(tmp_path: object) -> None:
    broker = PlayedBroker()
    options = {"message_model": "BROADCASTING", "offsets_directory": str(tmp_path)}
    lab = ordered(broker, **options)
    lab.put(b"0", b"1")
    lab.advance(60_000)
    assert lab.consumed == [b"0", b"1"]
    assert RequestCode.LOCK_BATCH_MQ not in lab.carrier.codes()


# -- dropping ----------------------------------------------------------------------------------


def hand_over(lab: PushLab) -> None:
    """Let another member join, which gets queue 1."""
    lab.broker.members.append(OTHER)
    lab.services.rebalance_soon()
    lab.carrier.settle()


def test_dropped_queue_is_unlocked_at_once() -> None:
    broker = PlayedBroker(queues=2)
    lab = ordered(broker)
    lab.put(b"0", queue_id=1)
    hand_over(lab)
    assert lab.owned() == [broker.queue(0)]
    assert broker.queue(1) not in broker.locks
    assert broker.committed(1) == 1


def test_dropped_queue_with_messages_is_unlocked_twenty_seconds_later() -> None:
    broker = PlayedBroker(queues=2)
    lab = ordered(broker, fail)
    lab.put(b"0", queue_id=1)
    hand_over(lab)
    assert lab.owned() == [broker.queue(0)]
    assert broker.locks[broker.queue(1)] == CLIENT
    lab.advance(19_999)
    assert broker.locks[broker.queue(1)] == CLIENT
    lab.advance(1)
    assert broker.queue(1) not in broker.locks
    assert lab.consumed == [b"0"]


def test_queue_stays_locked_while_the_listener_has_its_message() -> None:
    broker = PlayedBroker(queues=2)
    states: list[object] = []

    def react(_: Messages) -> None:
        hand_over(lab)
        lab.advance(5_000)
        states.append((len(lab.owned()), broker.locks[broker.queue(1)]))

    lab = ordered(broker, react)
    lab.put(b"0", b"1", queue_id=1)
    assert states == [(2, CLIENT)]
    lab.advance(20_000)
    assert lab.owned() == [broker.queue(0)]
    assert lab.consumed == [b"0"]
    assert broker.committed(1) == 0


def test_queue_that_could_not_be_unlocked_is_consumed_again_when_it_comes_back() -> None:
    broker = PlayedBroker(queues=2)

    def react(_: Messages) -> None:
        hand_over(lab)
        lab.advance(5_000)
        broker.members.remove(OTHER)

    lab = ordered(broker, react)
    lab.put(b"0", queue_id=1)
    lab.react = None
    lab.advance(40_000)
    assert lab.consumed == [b"0", b"0"]
    assert committed(lab, 1) == 1
