"""Long work while others change the tables that it walks: between any two of its steps."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any, TypeAlias

import pytest

from fakemq.broker.pulling.slow_consumers import SlowConsumers
from fakemq.broker.tables.stats import BrokerStatsManager
from fakemq.broker.v5.handlers.invoke_broker_to_reset_offset import (
    invoke_broker_to_reset_offset,
)
from fakemq.broker.v5.pop.order import OrderTable
from fakemq.clock import slices
from fakemq.clock.node_clock import NodeClock
from fakemq.clock.slices import finished
from fakemq.config.model import BrokerConfig
from fakemq.dispatch.answers import Refused, Request
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.bodies.offset import ConsumerOffsetSerializeWrapper
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.headers.offset import ResetOffsetRequestHeader5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.form import pure_only

GROUP = "g"
TOPICS = [f"t{number}" for number in range(4)]
DAY_MS = 24 * 3_600_000

Case: TypeAlias = "Iterator[Generator[None, None, Any] | None]"
"""Yields the work; is resumed once when others have their turn, and once when the work is done."""


@pytest.fixture(autouse=True)
def step_for_each_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "A_STEP", 1)


def group() -> SubscriptionGroupConfig:
    return SubscriptionGroupConfig(group_name=GROUP)


def order() -> Case:
    """A topic that is created anew, and popped in order, keeps what is out now."""

    def popped(topic: str) -> None:
        times = {"pop_time_ms": 0, "invisible_time_ms": 1_000, "now_ms": 0}
        table.update(None, topic, GROUP, 0, offsets=[5], **times)

    table, topics = OrderTable(), {topic: TopicConfig(topic, 1, 1) for topic in TOPICS}
    for topic in TOPICS:
        popped(topic)
    gone = topics.pop(TOPICS[2])
    yield table.clean(topics.get, {GROUP}, 0)
    topics[TOPICS[2]] = gone
    popped(TOPICS[2])
    yield None
    assert table.find(TOPICS[2], GROUP, 0) is not None


def slow_consumers(lab: BrokerLab, *, catches_up: bool) -> Case:
    """A topic that is created anew is remembered; a group that catches up is not suspended."""
    config = BrokerConfig(
        disable_consume_if_consumer_read_slowly=True, consumer_fallbehind_threshold=10
    )
    broker = lab.broker(config)
    broker.groups.update(group())
    for topic in TOPICS:
        broker.create_topic(topic, 1)
    slow = SlowConsumers(broker.node, broker.topics, broker.groups, 0)
    for topic in TOPICS:
        slow.read(GROUP, topic, 0, 11 if topic == TOPICS[2] and catches_up else 1)
    if not catches_up:
        broker.delete_topic(TOPICS[2])
    yield slow._look_at_each()
    suspended = not broker.groups.snapshot()[GROUP].consume_enable
    broker.create_topic(TOPICS[2], 1)
    slow.read(GROUP, TOPICS[2], 0, 0)
    yield None
    assert broker.groups.snapshot()[GROUP].consume_enable is not suspended
    assert len(slow) == len(TOPICS)


def filters(lab: BrokerLab) -> Case:
    """A filter that a heartbeat replaces is not removed with the dead one before it."""

    def said(topic: str, version: int) -> SubscriptionData:
        return SubscriptionData(
            topic=topic, sub_string=f"a > {version}", sub_version=version, expression_type="SQL92"
        )

    broker = lab.broker()
    manager = broker.filters
    finished(manager.register(GROUP, [said(topic, 1) for topic in TOPICS]))
    manager.unregister(GROUP)
    broker.node.config.filter_data_clean_time_span = 0
    yield manager.clean()
    finished(manager.register(GROUP, [said(TOPICS[2], 2)]))
    yield None
    found = manager.find(TOPICS[2], GROUP)
    assert found is not None
    assert found.data.client_version == 2


def locks(lab: BrokerLab) -> Case:
    """What is locked after a reset of the locks is locked."""
    broker = lab.broker()
    session = lab.peer(broker.addr).session
    queues = [MessageQueue(topic=topic, broker_name="broker-a", queue_id=0) for topic in TOPICS]
    steps = broker.locks.try_lock_batch(GROUP, queues, "client", session)
    yield steps
    held = set(broker.locks.snapshot()[GROUP])
    broker.locks.reset()
    yield None
    assert set(broker.locks.snapshot().get(GROUP, ())) == set(queues) - held


def resets(lab: BrokerLab) -> Case:
    """A topic that is deleted while its offsets are reset has none."""
    broker = broker5(lab.broker(reference=REFERENCE))
    broker.groups.update(group())
    broker.create_topic(TOPICS[0], 4)
    fields = {"topic": TOPICS[0], "group": GROUP, "timestamp": "-1", "isForce": "true"}
    command = RemotingCommand(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext_fields=fields)
    session = lab.peer(broker.addr).session
    header = ResetOffsetRequestHeader5.decode(fields)
    steps = invoke_broker_to_reset_offset(broker, Request(command, header, session))
    assert isinstance(steps, Generator)
    yield steps
    broker.delete_topic(TOPICS[0])
    finished(broker.offsets.clean(TOPICS[0]))
    finished(broker.offset_resets.clean(TOPICS[0]))
    yield None
    assert not broker.offsets.query_all(GROUP, TOPICS[0])
    assert not broker.offset_resets.has(TOPICS[0], GROUP, 0)


def resets_of_fewer_queues(lab: BrokerLab) -> Case:
    """A queue that is deleted while the offsets of its topic are reset has none."""
    broker = broker5(lab.broker(reference=REFERENCE))
    broker.groups.update(group())
    broker.create_topic(TOPICS[0], 4)
    fields = {"topic": TOPICS[0], "group": GROUP, "timestamp": "-1", "isForce": "true"}
    command = RemotingCommand(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext_fields=fields)
    header = ResetOffsetRequestHeader5.decode(fields)
    request = Request(command, header, lab.peer(broker.addr).session)
    steps = invoke_broker_to_reset_offset(broker, request)
    assert isinstance(steps, Generator)
    yield steps
    resets = broker.offset_resets
    was_done = resets.has(TOPICS[0], GROUP, 3)
    broker.topics.update(TopicConfig(TOPICS[0], 2, 2))
    yield None
    found = [resets.has(TOPICS[0], GROUP, index) for index in range(4)]
    assert was_done or found == [True, True, False, False]


def offsets(lab: BrokerLab) -> Case:
    """A group that is removed has no offsets, though a slave gets others meanwhile."""
    broker = lab.broker()
    for topic in TOPICS:
        broker.offsets.commit(GROUP, topic, 0, 1)
    yield broker.offsets.remove(GROUP)
    fetched = ConsumerOffsetSerializeWrapper(offset_table={"t@other": {0: 1}})
    finished(broker.offsets.put_all(fetched))
    yield None
    assert not finished(broker.offsets.which_topics_by_group(GROUP))


def stats(lab: BrokerLab, monkeypatch: pytest.MonkeyPatch) -> Case:
    """What is sent to a topic after its counter was removed is counted."""
    begun: list[Generator[None, None, None]] = []
    monkeypatch.setattr(NodeClock, "carry_out", lambda _, steps, peer: begun.append(steps))
    manager = BrokerStatsManager(NodeClock(lab.clock, "a"), BrokerConfig())
    manager.put(TOPICS[0], 1, 10)
    manager.on_topic_deleted(TOPICS[0])
    yield begun[0]
    was_removed = TOPICS[0] not in manager.put_nums()
    manager.put(TOPICS[0], 1, 10)
    yield None
    assert not was_removed or manager.put_nums()[TOPICS[0]] == 1


CASES: dict[str, Callable[[BrokerLab, pytest.MonkeyPatch], Case]] = {
    "order": lambda *_: order(),
    "slow consumer's topic comes": lambda lab, _: slow_consumers(lab, catches_up=False),
    "slow consumer catches up": lambda lab, _: slow_consumers(lab, catches_up=True),
    "filters": lambda lab, _: filters(lab),
    "locks": lambda lab, _: locks(lab),
    "resets": lambda lab, _: resets(lab),
    "resets of fewer queues": lambda lab, _: resets_of_fewer_queues(lab),
    "offsets": lambda lab, _: offsets(lab),
    "stats": stats,
}


def done_after(steps: Generator[None, None, object], count: int) -> bool:
    """Take some steps, or fewer if the work is done before; return whether it is."""
    for _ in range(count):
        try:
            next(steps)
        except StopIteration:
            return True
    return False


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=pure_only if name == "stats" else ())
        for name, case in CASES.items()
    ],
)
def test_work_is_right_when_tables_change_between_any_two_steps(
    case: Callable[[BrokerLab, pytest.MonkeyPatch], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    moments, done = 0, False
    while not done:
        moments += 1
        parts = case(BrokerLab(), monkeypatch)
        steps = next(parts)
        assert steps is not None
        done = done_after(steps, moments)
        next(parts)
        with suppress(Refused):
            finished(steps)
        assert next(parts, None) is None
    assert moments > 2
