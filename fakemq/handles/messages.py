"""What a cluster stores: messages, topics and groups, to look at, to put in, and to assert."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from fakemq.config.checked import topic_queues, whole
from fakemq.core import inspection, views
from fakemq.core.views import Queue
from fakemq.errors import ConfigError
from fakemq.handles.running import Handle, Life
from fakemq.handles.values import Delayed, Message, Origin, message_of
from fakemq.protocol.properties import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR

if TYPE_CHECKING:
    from fakemq.biographies.biographer import Biographer
    from fakemq.biographies.biography import Biography
    from fakemq.handles.topics import GroupHandle, TopicHandle


class StoredMessages(Handle):
    """The part of a cluster's interface that is about messages, topics and groups."""

    def __init__(self, life: Life) -> None:
        super().__init__(life.running)
        self._life = life

    # -- messages, topics, groups -------------------------------------------------------------

    def name(self, topic_or_group: str) -> str:
        """The name itself; a cluster shared with others, of ``rocketmq_noproc``, adds a suffix."""
        return topic_or_group

    def create_topic(self, topic: str, queues: int = 8) -> None:
        """Create or change a topic on every running master, with this number of queues.

        LookupError if no master runs.
        """
        core = self._core
        topic_queues({topic: queues})
        self._call(lambda: core.create_topic(topic, queues))

    def seed(
        self,
        topic: str,
        bodies: Iterable[bytes | str],
        *,
        tags: str = "",
        keys: str = "",
        properties: Mapping[str, str] | None = None,
        queue: int | None = None,
    ) -> list[Message]:
        """Store messages as if a producer had sent them, in turn over the topic's queues.

        Or in the queue with the id ``queue``. A topic that does not exist is created. Returns what
        was stored there; with a ``DELAY`` among the ``properties`` that is nothing yet. ConfigError
        for what no broker would store, FakemqError where one refuses it for now.
        """
        topic_queues({topic: 1})
        more = checked_properties(properties or {})
        core, payloads = self._core, inspection.payloads(bodies)
        if queue is not None:
            whole("queue", queue, 0)
        stored = self._call(lambda: inspection.seed(core, topic, payloads, tags, keys, more, queue))
        return self._seen(stored)

    def messages(self, topic: str) -> list[Message]:
        """Every message stored in a topic, in the order of being stored, with its deliveries."""
        core = self._core
        return self._seen(self._call(lambda: inspection.messages(core, topic)))

    def biography(self, message: Message) -> Biography:
        """What became of a message by now, as far as the journal knows; see docs/journal.md.

        ``message.biography`` is the same for a message that a running cluster returned.
        """
        origin = message.origin
        return self._biographer().tell(message, None if origin is None else origin.epoch)

    def _seen(self, messages: list[views.Message]) -> list[Message]:
        """The same messages with their origin, so that they know the way to their biographies."""
        origin = self._origin
        return [message_of(message, origin) for message in messages]

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
        """Messages that wait for their delay level: those for ``topic``, or all; next due first.

        A retry waits as a message for the group's retry topic, such as ``%RETRY%billing``.
        LookupError for a topic that does not exist and is called almost like one that does.
        """
        core = self._core
        self._check_topic(topic)
        found = self._call(lambda: inspection.delayed(core, topic))
        origin = self._origin
        return [
            Delayed(**(asdict(one) | {"message": message_of(one.message, origin)})) for one in found
        ]

    def queues(self, topic: str) -> list[Queue]:
        """The queues of a topic on every broker that has it."""
        core = self._core
        return self._call(lambda: inspection.queues(core, topic))

    def topics(self) -> list[str]:
        """The names of all topics, RocketMQ's own among them."""
        core = self._core
        return self._call(lambda: inspection.topics(core))

    def topic(self, name: str) -> TopicHandle:
        """A topic, to change or delete it."""
        from fakemq.handles.topics import TopicHandle  # many tests hold none

        return TopicHandle(self._running, name)

    def group(self, name: str) -> GroupHandle:
        """A consumer group, whether it exists already or not."""
        from fakemq.handles.topics import GroupHandle  # many tests hold none

        return GroupHandle(self._running, name)

    # -- what became of them ------------------------------------------------------------------

    def diagnosis(self, topic: str | None = None, group: str | None = None) -> list[str]:
        """What most likely keeps messages from being consumed, the most certain first.

        Those of ``topic``, or all; ``group`` is their consumer. Empty if nothing waits.
        LookupError for a topic that does not exist.
        """
        self._check_topic(topic, may_come=False)
        return self._diagnosis(topic, group)

    def _check_topic(self, topic: str | None, *, may_come: bool = True) -> None:
        core = self._core
        if topic is not None:
            self._call(lambda: inspection.check_topic(core, topic, may_come=may_come))

    def _diagnosis(self, topic: str | None, group: str | None) -> list[str]:
        from fakemq.biographies.diagnosis import diagnosis  # for failures

        core = self._core
        return self._call(lambda: diagnosis(core, self._biographer().chronicle(), topic, group))

    def _explain(
        self, messages: Sequence[Message], topic: str | None = None, group: str | None = None
    ) -> str:
        return self._explanation(messages, self._diagnosis(topic, group))

    def _explain_sends(
        self, messages: Sequence[Message], topic: str | None, group: str | None = None
    ) -> str:
        from fakemq.biographies.diagnosis import diagnosis_of_sends

        core = self._core
        return self._explanation(
            messages,
            self._call(
                lambda: diagnosis_of_sends(core, self._biographer().chronicle(), topic or "")
            ),
        )

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
        """``topic`` has ``count`` messages, those of ``bodies`` in any order, or at least one.

        ``keys`` and ``tags`` look at those messages only. As all of these, AssertionError says
        what was seen instead, why most likely, and what became of the messages.
        """
        from fakemq.handles.assertions import assert_sent

        __tracebackhide__ = True
        if count == 0:
            self._check_topic(topic)
        assert_sent(self, topic, count, bodies, keys, tags, self._explain_sends)

    def assert_nothing_sent(self, topic: str) -> None:
        """No message is in ``topic``, which may not exist.

        LookupError for one that does not and is called almost like one that does, as here where
        nothing would be wrong otherwise.
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
        """``group`` got and acknowledged every message of ``topic``, ``count``, or these.

        Its last delivery counts: one that was sent back is consumed when its retry is, and one
        that went to the DLQ never.
        """
        from fakemq.handles.assertions import assert_consumed

        __tracebackhide__ = True
        assert_consumed(self, topic, group, count, bodies, self._explain)

    def assert_delivered_once(self, topic: str, group: str) -> None:
        """Every message of ``topic`` went to ``group`` once and not again, as a retry neither."""
        from fakemq.handles.assertions import assert_deliveries

        __tracebackhide__ = True
        self._check_topic(topic)
        assert_deliveries(self, topic, group, 1, 1, self._explain)

    def assert_not_redelivered(self, topic: str, group: str) -> None:
        """No message of ``topic`` went to ``group`` twice."""
        from fakemq.handles.assertions import assert_deliveries

        __tracebackhide__ = True
        self._check_topic(topic)
        assert_deliveries(self, topic, group, 0, 1, self._explain)

    def assert_in_dlq(
        self,
        group: str,
        count: int | None = None,
        *,
        bodies: Iterable[bytes | str] | None = None,
    ) -> None:
        """``group`` has ``count`` dead letters, these, or at least one."""
        from fakemq.handles.assertions import assert_in_dlq

        __tracebackhide__ = True
        assert_in_dlq(self, group, count, bodies, self._explain)


def checked_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties that a message can have; ConfigError for what is no text, or would split them."""
    for name, value in properties.items():
        texts = name and all(isinstance(one, str) for one in (name, value))
        if not texts or not {NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR}.isdisjoint(name + value):
            raise ConfigError(
                f"property {name!r}={value!r}: expected two texts without \\1 and \\2"
            )
    return dict(properties)
