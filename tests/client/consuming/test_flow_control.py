"""When a push consumer does not pull: too much is waiting here, or it is suspended."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.played_broker import PlayedBroker
from tests.support.push_lab import PushLab


def stalled(**settings: object) -> PushLab:
    """A consumer whose listener does not end."""
    lab = PushLab(PlayedBroker(), **settings).start()
    lab.carrier.performs_at_once = False
    return lab


def drain(lab: PushLab) -> None:
    while lab.carrier.performing:
        lab.carrier.perform_next()


def test_queue_with_many_messages_is_not_pulled_from() -> None:
    lab = stalled(pull_threshold_for_queue=10, pull_batch_size=4)
    for one in range(40):
        lab.broker.put(b"%d" % one)
    lab.carrier.settle()
    queue = lab.core.queues[lab.broker.queue()]
    assert 10 < len(queue) <= 14
    lab.advance(1_000)
    assert 10 < len(queue) <= 14
    lab.carrier.performs_at_once = True
    drain(lab)
    lab.advance(5_000)
    assert len(lab.consumed) == 40


def test_queue_with_long_messages_is_not_pulled_from() -> None:
    lab = stalled(pull_threshold_size_mib_for_queue=1, pull_batch_size=1)
    for _ in range(6):
        lab.broker.put(bytes(1 << 20))
    lab.carrier.settle()
    assert len(lab.core.queues[lab.broker.queue()]) == 2
    lab.carrier.performs_at_once = True
    drain(lab)
    lab.advance(5_000)
    assert len(lab.consumed) == 6


def test_queue_with_a_wide_span_is_not_pulled_from() -> None:
    lab = stalled(consume_concurrently_max_span=5, pull_batch_size=2)
    for one in range(20):
        lab.broker.put(b"%d" % one)
    lab.carrier.settle()
    assert 5 < lab.core.queues[lab.broker.queue()].max_span() <= 7
    lab.carrier.performs_at_once = True
    drain(lab)
    lab.advance(5_000)
    assert len(lab.consumed) == 20


def test_span_of_an_ordered_queue_does_not_matter() -> None:
    lab = stalled(consume_concurrently_max_span=5, pull_batch_size=2, ordered=True)
    for one in range(20):
        lab.broker.put(b"%d" % one)
    lab.carrier.settle()
    assert len(lab.core.queues[lab.broker.queue()]) == 20


@given(
    threshold=st.integers(1, 30),
    batch=st.integers(1, 16),
    count=st.integers(0, 80),
    queues=st.integers(1, 3),
)
def test_queue_never_has_more_than_its_threshold_and_one_pull(
    threshold: int, batch: int, count: int, queues: int
) -> None:
    broker = PlayedBroker(queues=queues)
    lab = PushLab(broker, pull_threshold_for_queue=threshold, pull_batch_size=batch).start()
    lab.carrier.performs_at_once = False
    for one in range(count):
        broker.put(b"%d" % one, queue_id=one % queues)
    lab.advance(1_000)
    for queue in lab.core.queues.values():
        assert len(queue) <= threshold + batch
    lab.carrier.performs_at_once = True
    drain(lab)
    lab.advance(10_000)
    assert sorted(lab.consumed) == sorted(b"%d" % one for one in range(count))


def test_threshold_of_a_topic_is_divided_among_all_queues() -> None:
    broker = PlayedBroker(queues=3)
    settings = {"pull_threshold_for_topic": 40, "pull_threshold_size_mib_for_topic": 2}
    lab = PushLab(broker, pull_batch_size=1, **settings).start()
    assert len(lab.core.queues) == 4  # the retry topic's is one of them
    lab.carrier.performs_at_once = False
    for one in range(40):
        broker.put(b"%d" % one)
    lab.carrier.settle()
    assert len(lab.core.queues[broker.queue()]) == 11


# -- suspend and resume ------------------------------------------------------------------------


def test_suspended_consumer_pulls_no_more_until_it_is_resumed() -> None:
    lab = PushLab(PlayedBroker()).start()
    lab.core.suspend()
    lab.put(b"0")  # the pull that is held brings it
    lab.put(b"1")
    lab.advance(30_000)
    assert lab.consumed == [b"0"]
    lab.core.resume()
    lab.advance(1_000)
    assert lab.consumed == [b"0", b"1"]


def test_suspended_consumer_keeps_its_queues() -> None:
    broker = PlayedBroker(queues=2)
    lab = PushLab(broker).start()
    lab.core.suspend()
    broker.members.append("10.0.0.0@1")
    lab.advance(60_000)
    assert len(lab.owned()) == 2
    lab.core.resume()
    lab.carrier.settle()
    assert len(lab.owned()) == 1
