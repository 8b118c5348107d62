"""The messages, topics and groups of a cluster: methods to read, store and assert them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from fakemq.clock.durations import span_ms
from fakemq.config import checked
from fakemq.config.checked import (
    DEFAULT_QUEUES,
    TopicSpec,
    checked_properties,
    checked_topic,
    text,
    whole,
)
from fakemq.core import inspection, views
from fakemq.core.views import Queue
from fakemq.handles.running import ClusterLife, Handle
from fakemq.handles.values import Delayed, Listing, Message, Origin, message_of, require_message
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.properties import DELAY_TIME_LEVEL, KEY_SEPARATOR
from fakemq.protocol.topics import dlq_topic

if TYPE_CHECKING:
    from fakemq.biographies.biographer import Biographer
    from fakemq.biographies.biography import Biography
    from fakemq.clock.durations import Duration
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.handles.topics import GroupHandle, TopicHandle


class StoredMessages(Handle):
    """The part of a cluster's interface for messages, topics and groups."""

    def __init__(self, life: ClusterLife) -> None:
        super().__init__(life.running)
        self._life = life

    # -- messages, topics, groups -------------------------------------------------------------

    def name(self, topic_or_group: str) -> str:
        """Return the name itself.

        The fixture ``rocketmq_noproc``, whose cluster several runs share, adds a suffix here.
        """
        return topic_or_group

    def create_topic(
        self, topic: str, queues: int = DEFAULT_QUEUES, *, message_type: str | None = None
    ) -> None:
        """Create or change a topic on every running master, with this number of queues each.

        ``message_type`` is what the topic is for, such as ``"FIFO"``; only a cluster of 5.5.0 has
        it. None keeps it; a new topic is ``NORMAL``. Raise LookupError if no master runs,
        ConfigError for an invalid name, number or type.
        """
        core, spec = self._core, TopicSpec(queues, message_type)
        checked_topic(topic, spec, core.spec.reference)
        self._call(lambda: core.create_topic(topic, spec))

    def seed(
        self,
        topic: str,
        bodies: Iterable[bytes | str],
        *,
        tags: str = "",
        keys: str | Iterable[str] = "",
        delay: Duration | None = None,
        properties: Mapping[str, str] | None = None,
        queue: int | None = None,
    ) -> list[Message]:
        """Store messages as if a producer had sent them; return the stored messages.

        The bodies go to the topic's queues in turn, or all to the queue with the id ``queue``. A
        topic that does not exist is created, with a warning if its name is almost like that of
        another one. ``delay``, such as ``"30m"``, is the time of a delay
        level. With it, or with a ``DELAY`` among the ``properties``, the result is empty, because
        the topic gets the messages only later. Other events may happen between
        two messages of a long list.

        Raise ConfigError for a message that no broker would store, LookupError for a ``queue`` that
        the topic does not have, FakemqError if no running master has the topic, or if a broker
        refuses the message for now.
        """
        more = checked_properties({} if properties is None else properties)
        if delay is not None:
            more[DELAY_TIME_LEVEL] = str(self._level_of(delay))
        steps = seeding(self._core, topic, bodies, tags, keys, more, queue)
        return self._running().carry_out(self._seen(steps))

    def _level_of(self, delay: Duration) -> int:
        """Return the level of a delay at this cluster's brokers."""
        ms = span_ms(delay, name="delay")
        levels = next(iter(self._core.brokers.values())).store.delay_levels.table
        return checked.delay_level(ms, delay, levels)

    def messages(self, topic: str) -> list[Message]:
        """Return every message stored in a topic, in the order of storing, with its deliveries.

        A topic that does not exist has none; LookupError if its name is almost like an existing
        one, because a mistyped name would let many a test pass. Other events may happen while it
        reads a long topic; messages that arrive meanwhile are not in the list.
        """
        return self._running().carry_out(self._stored(topic))

    def _stored(self, topic: str) -> Steps[list[Message]]:
        """Check the name of a topic, and return the steps of `messages`."""
        self._check_topic(topic)
        return self._seen(inspection.messages(self._core, topic))

    def biography(self, message: Message | str) -> Biography:
        """Return the history of a message until now, as far as the journal knows.

        See docs/journal.md. The same as ``message.biography``. A unique id finds what is gone,
        too; LookupError if the journal does not know it. Raise ArgumentError for what is neither.
        """
        if isinstance(message, str):
            return self._biographer().tell_by_id(message)
        require_message(message)
        origin = message.origin
        return self._biographer().tell(message, None if origin is None else origin.epoch)

    def _seen(self, steps: Steps[list[views.Message]]) -> Steps[list[Message]]:
        """Return the same messages with their origin, from which they look up their biographies."""
        left, origin = deque((yield from steps)), self._origin
        found: Listing[Message] = Listing()
        while left:  # each is freed in its step: all together would take long
            found.append(message_of(left.popleft(), origin))
            yield
        return found

    @property
    def _origin(self) -> Origin:
        return Origin(self._core.journal.epoch, self.biography)

    def _biographer(self) -> Biographer:
        life, running = self._life, self._running()
        if life.biographer is None:
            from fakemq.biographies.biographer import Biographer  # few tests read biographies

            life.biographer = Biographer(running.server.core, running.call)
        return life.biographer

    def delayed(self, topic: str | None = None) -> list[Delayed]:
        """Return the messages that wait for their delay level or, at 5.5.0, their time.

        The next due one comes first; a recalled one is not among them. ``topic`` limits them to the
        messages for one topic; None means all. A retry waits as a message for the group's retry
        topic, such as ``%RETRY%billing``. Raise LookupError as `messages`.
        """
        self._check_topic(topic)
        return self._running().carry_out(self._delayed(topic))

    def _delayed(self, topic: str | None) -> Steps[list[Delayed]]:
        left, origin = deque((yield from inspection.delayed(self._core, topic))), self._origin
        found: Listing[Delayed] = Listing()
        while left:  # each is freed in its step
            one = left.popleft()
            found.append(Delayed(**(asdict(one) | {"message": message_of(one.message, origin)})))
            yield
        return found

    def queues(self, topic: str) -> list[Queue]:
        """Return the queues of a topic on every broker that has it; LookupError as `messages`."""
        core = self._core
        self._check_topic(topic)
        return Listing(self._call(lambda: inspection.queues(core, topic)))

    def topics(self) -> list[str]:
        """Return the names of all topics, including RocketMQ's own."""
        core = self._core
        return Listing(self._call(lambda: inspection.topics(core)))

    def topic(self, name: str) -> TopicHandle:
        """Return a handle on a topic, to change or delete it; the topic need not exist."""
        from fakemq.handles.topics import TopicHandle  # many tests hold none

        return TopicHandle(self._running, text("topic", name))

    def group(self, name: str) -> GroupHandle:
        """Return a handle on a consumer group; the group need not exist."""
        from fakemq.handles.topics import GroupHandle  # many tests hold none

        return GroupHandle(self._running, text("group", name), self._biographer)

    # -- what became of them ------------------------------------------------------------------

    def diagnosis(self, topic: str | None = None, group: str | None = None) -> list[str]:
        """Return the likely reasons why messages are not consumed, the most certain first.

        ``topic`` and ``group`` limit it to the messages of one topic and to one consumer group. The
        list is empty if no message waits, access control keeps no group out, and no group of
        replicas is without a master. Raise LookupError for a topic that does not exist, and for a
        group that does not and whose name is almost like another's.
        """
        self._check_topic(topic, may_come=False)
        self._check_group(group)
        return self._running().carry_out(self._diagnosis(topic, group))

    def _check_topic(self, topic: str | None, *, may_come: bool = True) -> None:
        core = self._core
        if topic is not None:
            text("topic", topic)
            if not self._call(lambda: inspection.has_topic(core, topic)):
                from fakemq.core.near_names import check_topic  # most topics exist

                self._call(lambda: check_topic(core, topic, may_come=may_come))

    def _check_group(self, group: str | None) -> None:
        from fakemq.core.near_names import check_group

        core = self._core
        if group is not None:
            text("group", group)
            self._call(lambda: check_group(core, group))

    def _diagnosis(self, topic: str | None, group: str | None) -> Steps[list[str]]:
        from fakemq.biographies.diagnosis import diagnosis  # for failures

        yield from self._biographer().reading()
        return (yield from diagnosis(self._core, self._biographer().chronicle(), topic, group))

    def _explain(
        self,
        messages: Sequence[Message],
        topic: str | None = None,
        group: str | None = None,
        *,
        too_many: bool = False,
    ) -> Steps[str]:
        found = yield from self._diagnosis(topic, group)
        if too_many and topic is not None and group is not None:
            from fakemq.biographies.groups import older_than_group

            chronicle = self._biographer().chronicle()
            found += yield from older_than_group(self._core, chronicle, topic, group)
        return self._explanation(messages, found)

    def _explain_stored(
        self, messages: Sequence[Message], topic: str | None, group: str | None = None
    ) -> Steps[str]:
        """Explain which messages are stored in a topic, or in the DLQ of a group."""
        from fakemq.biographies.diagnosis import diagnosis_of_dead_letters, diagnosis_of_sends

        yield from self._biographer().reading()
        diagnose = diagnosis_of_dead_letters if topic is None else diagnosis_of_sends
        chronicle = self._biographer().chronicle()
        found = yield from diagnose(self._core, chronicle, topic or group or "")
        return self._explanation(messages, found)

    def _explanation(self, messages: Sequence[Message], diagnosis: Sequence[str]) -> str:
        from fakemq.handles.assertions import explanation
        from fakemq.handles.faults import Fault

        pending = [Fault(self._running, one) for one in self._core.faults.all() if one.pending]
        return explanation(messages, diagnosis, pending)

    def assert_sent(
        self,
        topic: str,
        count: int | None = None,
        *,
        bodies: Iterable[bytes | str] | None = None,
        keys: str | None = None,
        tags: str | None = None,
    ) -> None:
        """Assert that ``topic`` has ``count`` messages, those of ``bodies`` in any order, or at
        least one.

        ``keys`` and ``tags`` select the messages to look at. All assertions raise AssertionError,
        which says what was seen, the likely reasons, and the biographies of the messages.
        """
        from fakemq.handles.assertions import WantedMessages, why_not_sent

        __tracebackhide__ = True
        wanted, stored = WantedMessages(count, bodies), self._stored(topic)
        self._require(why_not_sent(stored, topic, wanted, keys, tags, self._explain_stored))

    def assert_nothing_sent(self, topic: str) -> None:
        """Assert that no message is in ``topic``; the topic need not exist.

        Raise LookupError for a topic that does not exist and whose name is almost like an existing
        one, because a mistyped name would always pass.
        """
        __tracebackhide__ = True
        self.assert_sent(topic, 0)

    def assert_consumed(
        self,
        topic: str,
        group: str,
        count: int | None = None,
        *,
        bodies: Iterable[bytes | str] | None = None,
    ) -> None:
        """Assert that ``group`` got and acknowledged every message of ``topic``, ``count``, or
        ``bodies``.

        The last delivery of a message counts: a message that was sent back is consumed when its
        retry is; a message that went to the DLQ is never consumed, and neither is one that no
        member received although the group committed past it, as a tag filter makes it do.
        """
        from fakemq.handles.assertions import WantedMessages, why_not_consumed

        __tracebackhide__ = True
        self._check_group(group)
        wanted, stored = WantedMessages(count, bodies), self._stored_with_biographies(topic)
        self._require(why_not_consumed(stored, topic, group, wanted, self._explain))

    def assert_delivered_once(self, topic: str, group: str) -> None:
        """Assert that ``group`` got every message of ``topic`` exactly once, retries included.

        A topic without messages fails, as in `assert_consumed`.
        """
        __tracebackhide__ = True
        self._assert_deliveries(topic, group, 1, 1)

    def assert_not_redelivered(self, topic: str, group: str) -> None:
        """Assert that ``group`` got no message of ``topic`` twice, retries included."""
        __tracebackhide__ = True
        self._assert_deliveries(topic, group, 0, 1)

    def _assert_deliveries(self, topic: str, group: str, least: int, most: int) -> None:
        from fakemq.handles.assertions import why_not_delivered

        __tracebackhide__ = True
        stored = self._stored_with_biographies(topic)
        self._check_group(group)
        self._require(why_not_delivered(stored, topic, group, least, most, self._explain))

    def assert_in_dlq(
        self,
        group: str,
        count: int | None = None,
        *,
        bodies: Iterable[bytes | str] | None = None,
    ) -> None:
        """Assert that ``group`` has ``count`` dead letters, these ``bodies``, or at least one."""
        from fakemq.handles.assertions import WantedMessages, why_not_in_dlq

        __tracebackhide__ = True
        self._check_group(group)
        wanted, stored = WantedMessages(count, bodies), self._stored(dlq_topic(group))
        self._require(why_not_in_dlq(stored, group, wanted, self._explain_stored))

    def _stored_with_biographies(self, topic: str) -> Steps[list[Message]]:
        """As `_stored`; the biographies of these messages are quick to write afterwards."""

        def steps() -> Steps[list[Message]]:
            found = yield from stored
            yield from self._biographer().reading()
            return found

        stored = self._stored(topic)
        return steps()

    def _require(self, why_not: Steps[str]) -> None:
        """Raise AssertionError with the text that these steps return, unless it is empty."""
        from fakemq.handles.assertions import require

        __tracebackhide__ = True
        require(self._running().carry_out(why_not))


def seeding(
    core: ClusterCore,
    topic: str,
    bodies: Iterable[bytes | str],
    tags: str,
    keys: str | Iterable[str],
    properties: Mapping[str, str],
    queue: int | None,
) -> Steps[list[views.Message]]:
    """Check what `StoredMessages.seed` was given, and return the steps that store it."""
    checked_topic(topic, TopicSpec(1))
    more, payloads = checked_properties(properties), checked.payloads(bodies)
    if queue is not None:
        whole("queue", queue, 0, INT_MAX)
    words = KEY_SEPARATOR.join(checked.several_texts("keys", keys))
    return _seeded(
        core,
        topic,
        inspection.seed(core, topic, payloads, text("tags", tags), words, more, queue),
    )


def _seeded(
    core: ClusterCore, topic: str, steps: Steps[list[views.Message]]
) -> Steps[list[views.Message]]:
    if not inspection.has_topic(core, topic):
        from fakemq.core.near_names import warn_of_new_topic  # most topics exist

        warn_of_new_topic(core, topic)
    return (yield from steps)
