"""Looking into a cluster's nodes: from their tables and stores to the snapshots tests see."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from fakemq.events import Delivered
from fakemq.journal import Entry, line
from fakemq.protocol.message import MessageExt, decode_records, decompressed_body
from fakemq.views import Deadline, Delivery, Member, Message, Queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemq.broker.broker import Broker
    from fakemq.cluster_core import ClusterCore
    from fakemq.timers import Timer


NODE = "cluster"
"""The name under which the cluster as a whole asks and writes its journal."""
READ_AT_ONCE = 32


def deadline(timer: Timer, due_in_ms: int) -> Deadline:
    """The snapshot of a timer."""
    return Deadline(timer.kind, timer.owner, due_in_ms, timer.domain.value, timer.outside)


def timers(core: ClusterCore) -> list[Deadline]:
    """Every pending deadline, soonest first."""
    clock = core.clock
    pending = [deadline(timer, clock.due_in_ms(timer)) for timer in clock.timers()]
    return sorted(pending, key=lambda one: one.due_in_ms)


def text(entries: list[Entry]) -> str:
    """Journal entries as lines."""
    return "\n".join(line(entry) for entry in entries)


def topics(core: ClusterCore) -> list[str]:
    """The names of all topics of all brokers, sorted."""
    return sorted({topic for broker in core.brokers.values() for topic in broker.topics.snapshot()})


def queues(core: ClusterCore, topic: str) -> list[Queue]:
    """The queues of ``topic`` at every broker that has it."""
    return [
        Queue(
            topic,
            broker.config.broker_name,
            queue_id,
            broker.store.min_offset_in_queue(topic, queue_id),
            broker.store.max_offset_in_queue(topic, queue_id),
        )
        for broker, queue_id in _queues(core, topic)
    ]


def _queues(core: ClusterCore, topic: str) -> Iterator[tuple[Broker, int]]:
    for broker in core.brokers.values():
        config = broker.topics.snapshot().get(topic)
        if config is not None:
            for queue_id in range(max(config.read_queue_nums, config.write_queue_nums)):
                yield broker, queue_id


def lag(core: ClusterCore, group: str, topic: str) -> int:
    """Stored messages of ``topic`` behind the committed offsets of ``group``."""
    committed = offsets(core, group, topic)
    return sum(
        max(0, q.max_offset - max(q.min_offset, committed.get((q.broker, q.queue_id), 0)))
        for q in queues(core, topic)
    )


def offsets(core: ClusterCore, group: str, topic: str) -> dict[tuple[str, int], int]:
    """Committed offsets: (broker name, queue id) → next offset to consume."""
    return {
        (broker.config.broker_name, queue_id): offset
        for broker in core.brokers.values()
        for queue_id, offset in broker.offsets.snapshot().get(f"{topic}@{group}", {}).items()
    }


def members(core: ClusterCore, group: str) -> list[Member]:
    """The consumers of ``group``, each once, sorted by client id."""
    found = {
        member.client_id: member
        for broker in core.brokers.values()
        for member in broker.consumers.snapshot().get(group, ())
    }
    return [found[client_id] for client_id in sorted(found)]


def messages(core: ClusterCore, topic: str) -> list[Message]:
    """Every message of ``topic``, in the order of being stored, with its deliveries."""
    delivered = _deliveries(core, topic)
    found = [
        _message(broker, stored, delivered.get((broker.name, queue_id, stored.queue_offset), []))
        for broker, queue_id in _queues(core, topic)
        for stored in _stored(broker, topic, queue_id)
    ]
    return sorted(found, key=lambda message: (message.stored_at_ms, message.commit_log_offset))


def _stored(broker: Broker, topic: str, queue_id: int) -> Iterator[MessageExt]:
    store = broker.store
    offset, end = (
        store.min_offset_in_queue(topic, queue_id),
        store.max_offset_in_queue(topic, queue_id),
    )
    while offset < end:
        result = store.get_message(NODE, topic, queue_id, offset, READ_AT_ONCE)
        yield from decode_records(result.body)
        if result.next_begin_offset <= offset:
            return  # what is left was removed
        offset = result.next_begin_offset


def _message(broker: Broker, stored: MessageExt, deliveries: list[Delivery]) -> Message:
    return Message(
        topic=stored.topic,
        broker=broker.config.broker_name,
        queue_id=stored.queue_id,
        offset=stored.queue_offset,
        body=decompressed_body(stored),
        tags=stored.tags or "",
        keys=stored.keys or "",
        properties=dict(stored.properties),
        msg_id=stored.msg_id,
        offset_msg_id=stored.offset_msg_id,
        born_at_ms=stored.born_timestamp_ms,
        stored_at_ms=stored.store_timestamp_ms,
        born_host=stored.born_host[0],
        store_host=f"{stored.store_host[0]}:{stored.store_host[1]}",
        sys_flag=stored.sys_flag,
        reconsume_times=stored.reconsume_times,
        commit_log_offset=stored.physical_offset,
        deliveries=tuple(deliveries),
    )


def _deliveries(core: ClusterCore, topic: str) -> dict[tuple[str, int, int], list[Delivery]]:
    found: dict[tuple[str, int, int], list[Delivery]] = defaultdict(list)
    for entry in core.journal:
        event = entry.event
        if isinstance(event, Delivered) and event.topic == topic:
            delivery = Delivery(event.group, event.peer, entry.at_ms)
            for offset in event.offsets:
                found[event.node, event.queue_id, offset].append(delivery)
    return found


def seed(core: ClusterCore, topic: str, bodies: list[bytes], tags: str, keys: str) -> list[Message]:
    """Store ``bodies`` in turn over the topic's queues, as a producer's sends would be stored."""
    if not list(_queues(core, topic)):
        core.create_topic(topic, 8)
    targets = list(_queues(core, topic))
    before = {message.offset_msg_id for message in messages(core, topic)}
    for number, body in enumerate(bodies):
        broker, queue_id = targets[number % len(targets)]
        broker.seed(topic, queue_id, body, tags, keys)
    core.network.settle()
    return [message for message in messages(core, topic) if message.offset_msg_id not in before]
