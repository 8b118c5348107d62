"""Reads a cluster's nodes: makes the snapshots that tests see from tables and stores."""

# Over 400 lines: each view is read in one pass over queues and journal.

from __future__ import annotations

from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from fakemq.broker.seeding import seed as put
from fakemq.broker.sending.delay import real_place
from fakemq.clock.slices import Steps
from fakemq.config.checked import MAX_QUEUES, TopicSpec
from fakemq.core.cluster import rank
from fakemq.core.views import Delayed, Delivery, Member, Message, Queue
from fakemq.errors import FakemqError
from fakemq.events.core import Delivered, LogAppended
from fakemq.journal.entries import Entry
from fakemq.journal.journal import line
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.hosts import format_host
from fakemq.protocol.java import consistent_hash, java_string_hash
from fakemq.protocol.limits import MESSAGE_BODY_MAX_BYTES
from fakemq.protocol.message import MessageExt, decompressed_body
from fakemq.protocol.properties import LITE_TOPIC
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.topics import SCHEDULE_TOPIC
from fakemq.store.delay_detour import queue_id_to_delay_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fakemq.broker.broker import Broker
    from fakemq.core.cluster import ClusterCore
    from fakemq.events.store import AlsoQueued


def text(entries: list[Entry]) -> str:
    """Return journal entries as lines."""
    return "\n".join(line(entry) for entry in entries)


def topics(core: ClusterCore) -> list[str]:
    """Return the names of all topics, sorted."""
    return sorted({topic for broker in holders(core) for topic in broker.topics.snapshot()})


def has_topic(core: ClusterCore, topic: str) -> bool:
    """Return whether a broker, running or not, has a topic."""
    return bool(having(core, topic))


def having(core: ClusterCore, topic: str) -> list[Broker]:
    """Return the brokers, running or not, that have a topic."""
    return [broker for broker in core.brokers.values() if broker.topics.select(topic) is not None]


def queues(core: ClusterCore, topic: str) -> list[Queue]:
    """Return the queues of ``topic`` at every broker that has it."""
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


def holders(core: ClusterCore) -> Iterator[Broker]:
    """Return one broker of each brokerName: its master, or a slave if the master is down.

    The other slaves hold the same data.
    """
    found: dict[str, Broker] = {}
    for broker in core.brokers.values():
        name = broker.config.broker_name
        if name not in found or rank(broker) < rank(found[name]):
            found[name] = broker
    yield from found.values()


def _queues(core: ClusterCore, topic: str) -> Iterator[tuple[Broker, int]]:
    for broker in holders(core):
        config = broker.topics.select(topic)
        if config is not None:
            queue_nums = max(config.read_queue_nums, config.write_queue_nums)
            # A client may create a topic of two billion queues.
            for queue_id in range(min(queue_nums, MAX_QUEUES)):
                yield broker, queue_id


def _written_queues(core: ClusterCore, topic: str) -> Iterator[tuple[Broker, int]]:
    for broker in holders(core):
        for queue_id in broker.store.queue_ids(topic):
            yield broker, queue_id


def lag(core: ClusterCore, group: str, topic: str) -> int:
    """Return how many messages of ``topic`` are beyond the committed offsets of ``group``."""
    behind = 0
    for broker in holders(core):
        store = broker.store
        for name in _consumed_as(broker, group, topic):
            committed = broker.offsets.query_all(group, name)
            for queue_id in store.queue_ids(name):
                first = store.min_offset_in_queue(name, queue_id)
                done = committed.get(queue_id, 0)
                behind += max(0, store.max_offset_in_queue(name, queue_id) - max(first, done))
    return behind


def _consumed_as(broker: Broker, group: str, topic: str) -> Iterable[str]:
    """Return the names by which a group consumes a topic: its own, or those of its lite topics."""
    if not _has_lite_topics(broker, topic):
        return (topic,)
    from fakemq.broker.v5.lite.settings import is_bound  # few topics are parents
    from fakemq.protocol.v5.lite import belongs_to

    if not is_bound(broker.groups, group, topic):
        return (topic,)
    return [one for one in broker.store.queues.topics() if belongs_to(one, topic)]


def _has_lite_topics(broker: Broker, topic: str) -> bool:
    """Return whether a topic is the parent of lite topics."""
    config = broker.topics.select(topic)
    if config is None or not config.attributes:
        return False
    from fakemq.protocol.v5.lite import is_parent_type  # few topics have attributes

    return is_parent_type(config.attributes)


def offsets(core: ClusterCore, group: str, topic: str) -> dict[tuple[str, int], int]:
    """Return the committed offsets: (broker name, queue id) → next offset to consume."""
    return {
        (broker.config.broker_name, queue_id): offset
        for broker in holders(core)
        for queue_id, offset in broker.offsets.query_all(group, topic).items()
    }


def members(core: ClusterCore, group: str) -> list[Member]:
    """Return the consumers of ``group``, sorted by client id.

    A client that is connected to several brokers is there once. If two connections to one broker
    have the same client id, as two processes may, both are there.

    Brokers know those that are connected to them, the front its own.
    """
    found: dict[str, list[Member]] = {}
    for broker in core.brokers.values():
        here: dict[str, list[Member]] = defaultdict(list)
        for one in broker.consumers.members(group):
            here[one.client_id].append(Member(one.client_id, one.session.remote_addr))
        found |= {name: ones for name, ones in here.items() if len(ones) > len(found.get(name, ()))}
    if core.proxy is not None:
        here = defaultdict(list)
        for client_id, addr in core.proxy.members(group):
            here[client_id].append(Member(client_id, addr))
        found |= here
    return [member for client_id in sorted(found) for member in found[client_id]]


def messages(core: ClusterCore, topic: str) -> Steps[list[Message]]:
    """Return every message of ``topic``, in the order of storing, with its deliveries.

    What arrives between the steps is not among them.
    """
    _, found = yield from _messages(core, topic)
    return found


def delayed(core: ClusterCore, topic: str | None) -> Steps[list[Delayed]]:
    """Return the messages that wait for a delay level or their time, soonest due first.

    ``topic`` limits them to one topic; None means all.
    """
    found = yield from _timer_messages(core, topic)
    for one in at_delay_levels(core):
        if topic in (None, one.topic):
            found.append(one)
        yield
    return sorted(found, key=lambda one: one.due_at_ms)


def at_delay_levels(core: ClusterCore) -> Iterator[Delayed]:
    """Yield the messages that wait for a delay level at any broker, in no order."""
    unpacking = Unpacking()
    for broker, queue_id in _written_queues(core, SCHEDULE_TOPIC):
        level = queue_id_to_delay_level(queue_id)
        since = broker.delay.next_offset(level)
        for stored in broker.store.messages_in_queue(SCHEDULE_TOPIC, queue_id, since):
            place = real_place(stored)
            unit = broker.store.queue_unit(SCHEDULE_TOPIC, queue_id, stored.queue_offset)
            if place is not None and unit is not None:
                name = broker.config.broker_name
                message = message_view(stored, unpacking.body(stored), name)
                yield Delayed(place[0], name, place[1], level, unit[2], message)


def _timer_messages(core: ClusterCore, topic: str | None) -> Steps[list[Delayed]]:
    """Return the messages that wait in the timer wheel of any broker, in no order."""
    unpacking = Unpacking()
    found = []
    for broker in list(holders(core)):
        for stored, due_at_ms in (yield from broker.timer_messages()):
            place = real_place(stored)
            if place is not None and topic in (None, place[0]):
                name = broker.config.broker_name
                message = message_view(stored, unpacking.body(stored), name)
                found.append(Delayed(place[0], name, place[1], 0, due_at_ms, message))
            yield
    return found


def messages_page(
    core: ClusterCore, topic: str, offset: int, limit: int
) -> Steps[tuple[int, list[Message]]]:
    """Return how many messages `messages` has, and some of them; bodies as `PAGE` unpacks them."""
    return _messages(core, topic, slice(offset, offset + limit), PAGE)


def _messages(
    core: ClusterCore,
    topic: str,
    wanted: slice = slice(None),  # a slice never changes
    limits: tuple[int, ...] = (),
) -> Steps[tuple[int, list[Message]]]:
    """Return the number of messages of ``topic``, and the wanted ones, unpacked within limits."""
    while True:
        opened = [(broker, broker.store.queues) for broker in core.brokers.values()]
        found = yield from _read(core, topic, wanted, Unpacking(*limits))
        # A store on disk that was closed or opened meanwhile has shown only a part of a topic.
        if all(broker.store.queues is queues for broker, queues in opened):
            return found


def _read(
    core: ClusterCore, topic: str, wanted: slice, unpacking: Unpacking
) -> Steps[tuple[int, list[Message]]]:
    # Queues and journal as they are now: a message that arrives later had no place in the order.
    ends = [
        (broker, queue_id, broker.store.max_offset_in_queue(topic, queue_id))
        for broker, queue_id in _written_queues(core, topic)
    ]
    appended, delivered = yield from _biographies(core, topic)
    # Not the messages: together they may be as large as the store.
    found: list[tuple[tuple[int, int, int], Broker, int, Place]] = []
    for broker, queue_id, end in ends:
        for stored in broker.store.messages_in_queue(topic, queue_id, until=end):
            place = (broker.config.broker_name, queue_id, stored.queue_offset)
            # What the journal has forgotten is older than what it knows.
            order = (appended.get(place, 0), stored.store_timestamp_ms, stored.commit_log_offset)
            found.append((order, broker, stored.store_size_bytes, place))
            yield
    found.sort(key=itemgetter(0))
    views = []
    for (_, _, phy_offset), broker, size_bytes, place in found[wanted]:
        message = broker.store.look_message_by_offset(phy_offset, size_bytes)
        if message is not None:  # else it was deleted meanwhile
            body = unpacking.body(message)
            views.append(message_view(message, body, place[0], delivered.get(place, ())))
        yield
    return len(found), views


PAGE = (4 << 20, 8 << 20)
"""For a caller that is a peer: the most bytes of one unpacked body, and of all."""


class Unpacking:
    """Unpacks bodies as long as there is room for them: few packed bytes may stand for many.

    A body beyond the limits is shown as it came, and so is one that a client did not compress
    although it says so.
    """

    def __init__(
        self, most_bytes: int = MESSAGE_BODY_MAX_BYTES, all_bytes: int = 4 * MESSAGE_BODY_MAX_BYTES
    ) -> None:
        self._most_bytes = most_bytes
        self._left_bytes = all_bytes

    def body(self, stored: MessageExt) -> bytes:
        """Return the body as it was sent, if that is within the limits."""
        try:
            body = decompressed_body(stored, min(self._most_bytes, self._left_bytes))
        except RemoteProtocolError:
            return stored.body
        if body is not stored.body:
            self._left_bytes -= len(body)
        return body


def message_view(
    stored: MessageExt, body: bytes, broker_name: str, deliveries: Iterable[Delivery] = ()
) -> Message:
    """Return the snapshot of a stored message; ``body`` is the body as it was sent."""
    return Message(
        topic=stored.topic,
        broker=broker_name,
        queue_id=stored.queue_id,
        offset=stored.queue_offset,
        body=body,
        tags=stored.tags or "",
        keys=stored.keys or "",
        properties=dict(stored.properties),
        msg_id=stored.msg_id,
        offset_msg_id=stored.offset_msg_id,
        born_timestamp_ms=stored.born_timestamp_ms,
        store_timestamp_ms=stored.store_timestamp_ms,
        born_host=stored.born_host[0],
        store_host=format_host(stored.store_host),
        sys_flag=stored.sys_flag,
        reconsume_times=stored.reconsume_times,
        commit_log_offset=stored.commit_log_offset,
        deliveries=tuple(deliveries),
    )


Place: TypeAlias = "tuple[str, int, int]"
"""Broker name, queue id and queue offset of a message."""


_ENTRIES_A_STEP = 2_000


def _biographies(
    core: ClusterCore, topic: str, since_seq: int = 0
) -> Steps[tuple[dict[Place, int], dict[Place, list[Delivery]]]]:
    """Return, from the journal, the order in which messages were stored, and deliveries.

    Only the entries after ``since_seq`` count. A delivery from another queue that a message names,
    such as that of its lite topic, counts, too.
    """
    names = {broker.name: broker.config.broker_name for broker in core.brokers.values()}
    appended: dict[Place, int] = {}
    records: dict[tuple[str, int], Place] = {}
    also: dict[tuple[str, str, int, int], Place] = {}
    further: type[AlsoQueued] | None = None
    if any(broker.config.enable_multi_dispatch for broker in core.brokers.values()):
        from fakemq.events import store  # most clusters have none

        further = store.AlsoQueued
    delivered: dict[Place, list[Delivery]] = defaultdict(list)
    seq, last_seq = since_seq, core.journal.last_seq
    while seq < last_seq and (entries := core.journal.after(seq, _ENTRIES_A_STEP)):
        for entry in entries:
            event = entry.event
            if isinstance(event, LogAppended):
                if event.topic == topic:
                    place = names[event.node], event.queue_id, event.queue_offset
                    appended[place] = entry.seq
                    if further is not None:
                        records[names[event.node], event.phy_offset] = place
            elif further is not None and isinstance(event, further):
                of = records.get((names[event.node], event.phy_offset))
                if of is not None:
                    also |= {(names[event.node], *place): of for place in event.places}
            elif isinstance(event, Delivered) and (also or event.topic == topic):
                delivery = Delivery(event.group, event.peer, entry.at_ms)
                name, queue_id = names[event.node], event.queue_id
                for offset in event.offsets:
                    if event.topic == topic:
                        delivered[name, queue_id, offset].append(delivery)
                        continue
                    of = also.get((name, event.topic, queue_id, offset))
                    if of is not None:
                        delivered[of].append(delivery)
        seq = entries[-1].seq
        yield
    return appended, delivered


def _home_of(topic: str, lite: str, targets: list[tuple[Broker, int]]) -> list[tuple[Broker, int]]:
    """Return the queue to which producers send the messages of a lite topic.

    Source: MessageQueueSelector.java#buildWrite, SendMessageActivity.java#select (5.5.0)
    """
    if not any(_has_lite_topics(broker, topic) for broker, _ in targets):
        return targets
    writable = [
        (broker, queue_id)
        for broker, queue_id in sorted(targets, key=lambda one: (one[0].config.broker_name, one[1]))
        if (config := broker.topics.select(topic)) is not None
        and config.perm & PermName.WRITE
        and queue_id < config.write_queue_nums
    ]
    return (
        [writable[consistent_hash(java_string_hash(lite), len(writable))]] if writable else targets
    )


def seed(
    core: ClusterCore,
    topic: str,
    bodies: list[bytes],
    tags: str,
    keys: str,
    properties: Mapping[str, str],
    queue: int | None,
) -> Steps[list[Message]]:
    """Store ``bodies`` in turn over the topic's queues, as sends of a producer are stored.

    Return them as stored. ``queue`` limits this to the queues with one id; raise LookupError if
    there is none. Messages of a lite topic go to the queue that follows from its name. Brokers
    that do not run are skipped; raise FakemqError if no master that has the topic runs, or if one
    stops meanwhile.
    """
    masters = core.running_masters()
    if masters and not list(_queues(core, topic)):
        core.create_topic(topic, TopicSpec())
    queues = list(_queues(core, topic))
    targets = [(broker, queue_id) for broker, queue_id in queues if broker in masters]
    if not masters:
        raise FakemqError(f"no broker runs that could store messages for {topic}")
    if not targets:
        there = ", ".join(f"{one.name}, which is {one.state}" for one in having(core, topic))
        raise FakemqError(f"no running master has the topic {topic}; it is at {there}")
    if queue is not None:
        ids = sorted({queue_id for _, queue_id in targets})
        targets = [target for target in targets if target[1] == queue]
        if not targets:
            raise LookupError(
                f"{topic} has no queue {queue}; there are: {', '.join(map(str, ids))}"
            )
    elif lite := properties.get(LITE_TOPIC):
        targets = _home_of(topic, lite, targets)
    since_seq = core.journal.last_seq
    offsets: list[int | None] = []
    for number, body in enumerate(bodies):
        broker, queue_id = targets[number % len(targets)]
        if not broker.running:
            raise FakemqError(f"{broker.name} was stopped after {number} of {len(bodies)} messages")
        if broker.topics.select(topic) is None:
            raise FakemqError(f"{topic} was deleted after {number} of {len(bodies)} messages")
        offsets.append(put(broker, topic, queue_id, body, tags, keys, properties))
        yield
    for broker in dict.fromkeys(broker for broker, _ in targets):  # in the same order in each run
        yield from broker.store.dispatch_following()  # perhaps a large batch was on its way
    core.network.settle()
    _, delivered = yield from _biographies(core, topic, since_seq)
    views = []
    for number, offset in enumerate(offsets):
        if offset is None:
            continue
        broker, queue_id = targets[number % len(targets)]
        unit = broker.store.queue_unit(topic, queue_id, offset)
        found = None if unit is None else broker.store.look_message_by_offset(unit[0], unit[1])
        if found is not None:  # else it was deleted meanwhile
            name = broker.config.broker_name
            deliveries = delivered.get((name, queue_id, offset), ())
            views.append(message_view(found, found.body, name, deliveries))
        yield
    return views
