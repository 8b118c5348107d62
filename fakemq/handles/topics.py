"""Handles on topics and consumer groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, Unpack

from fakemq.config.checked import flag, text
from fakemq.core import inspection
from fakemq.core.near_names import check_group, check_topic
from fakemq.core.views import Inflight, Member
from fakemq.errors import counted
from fakemq.handles.running import Handle, Running
from fakemq.handles.values import Listing

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.biographies.biographer import Biographer
    from fakemq.clock.slices import Steps
    from fakemq.core.changes import GroupSettings
    from fakemq.handles.lite import LiteHandle

T = TypeVar("T")


class TopicHandle(Handle):
    """A topic at every running master that has it; each change is registered at the name servers.

    Clients learn of a change with their next route request. ValueError for impossible values and
    for RocketMQ's own topics; LookupError for a change if no running master has the topic.
    """

    def __init__(self, running: Running, name: str) -> None:
        super().__init__(running)
        self.name = name

    def set_queues(self, read: int, write: int | None = None) -> None:
        """Set the numbers of read and write queues; ``write`` is ``read`` by default.

        Queues beyond the number keep their messages.
        """
        from fakemq.core import changes  # few tests do this

        write = read if write is None else write
        self._call(
            lambda: changes.change_topic(
                self._core, self.name, read_queues=read, write_queues=write
            )
        )

    def set_perm(self, perm: str) -> None:
        """Set the permission: ``"RW"``, ``"R"``, ``"W"`` or ``""``."""
        from fakemq.core import changes  # few tests do this

        bits = changes.perm_of(perm)
        self._call(lambda: changes.change_topic(self._core, self.name, perm=bits))

    @property
    def message_type(self) -> str:
        """What the topic is for, as ``NORMAL``, ``FIFO``, ``DELAY``, ``TRANSACTION`` or ``MIXED``.

        It is the attribute ``message.type``; a topic without it is ``NORMAL``. Raise LookupError if
        no running master has the topic.
        """
        from fakemq.core import changes  # few tests do this

        return self._call(lambda: changes.message_type(self._core, self.name))

    @message_type.setter
    def message_type(self, value: str) -> None:
        """Set it, as ``+message.type`` does; only a cluster of 5.5.0 has it."""
        from fakemq.core import changes

        self._call(lambda: changes.set_message_type(self._core, self.name, value))

    def lite(self) -> LiteHandle:
        """Return the handle on its lite topics, if its type is ``LITE``."""
        from fakemq.handles.lite import LiteHandle  # few tests have lite topics

        return LiteHandle(self._running, self.name)

    def delete(self) -> None:
        """Delete the topic at every broker that has it; offsets that groups committed stay."""
        from fakemq.core import changes  # few tests do this

        self._call(lambda: changes.delete_topic(self._core, self.name))

    def __repr__(self) -> str:
        return f"<topic {self.name}>"


class GroupHandle(Handle):
    """A consumer group, whether it exists already or not."""

    def __init__(
        self, running: Running, name: str, biographer: Callable[[], Biographer] | None = None
    ) -> None:
        super().__init__(running)
        self.name = name
        self._biographer = biographer

    def inflight(self) -> list[Inflight]:
        """Return the messages that the group popped, and that are neither acknowledged nor revived.

        The first visible one comes first. A group that pulls has none. Raise LookupError for a name
        that no group has, and that is almost like one that a group has.
        """
        from fakemq.biographies.inflight import inflight  # few tests pop

        assert self._biographer is not None, "a handle of another process"
        biographer = self._biographer()

        def look() -> Steps[list[Inflight]]:
            check_group(self._core, self.name)
            yield from biographer.reading()
            return (yield from inflight(self._core, biographer.chronicle(), self.name))

        return Listing(self._running().carry_out(look()))

    def lag(self, topic: str) -> int:
        """Return how many stored messages of ``topic`` are beyond the committed offsets.

        A topic or group that does not exist has none of them. Raise LookupError if its name is
        almost like an existing one, because a mistyped name would let many a test pass.
        """
        return self._asked(topic, lambda: inspection.lag(self._core, self.name, topic))

    def offsets(self, topic: str) -> dict[tuple[str, int], int]:
        """Return the committed offsets: (broker name, queue id) → the next offset to consume.

        Raise LookupError as `lag`.
        """
        return self._asked(topic, lambda: inspection.offsets(self._core, self.name, topic))

    def _asked(self, topic: str, ask: Callable[[], T]) -> T:
        """Return what ``ask`` returns, on the cluster's thread, if the names may be meant."""
        text("topic", topic)

        def look() -> T:
            check_topic(self._core, topic)
            check_group(self._core, self.name)
            return ask()

        return self._call(look)

    def members(self) -> list[Member]:
        """Return the consumers that a broker, or the front of gRPC clients, has as members now.

        A client that is connected to several brokers is there once. Two connections to one broker
        with the same client id, as two processes may have, are both there.

        Raise LookupError for a group that does not exist, whose name is almost like another's.
        """

        def look() -> list[Member]:
            check_group(self._core, self.name)
            return inspection.members(self._core, self.name)

        return self._call(look)

    def set(self, **settings: Unpack[GroupSettings]) -> None:
        """Change settings of the group, such as ``retry_max_times=3``; ValueError if bad.

        A group that does not exist is created.
        """
        from fakemq.core import changes  # few tests do this

        self._call(lambda: changes.change_group(self._core, self.name, **settings))

    def suspend(self) -> None:
        """Refuse every member's pulls; pulls that are held already end at their usual time.

        A group that does not exist is created. Raise LookupError if its name is almost like
        another's.
        """
        self._enable(consume=False)

    def resume(self) -> None:
        """Let members pull again. Raise LookupError as `suspend`."""
        self._enable(consume=True)

    def _enable(self, *, consume: bool) -> None:
        self._call(lambda: check_group(self._core, self.name))
        self.set(consume_enable=consume)

    def delete(self, *, offsets: bool = False) -> None:
        """Delete the group at every broker, with ``offsets=True`` its committed offsets, too.

        A member's next pull creates the group again.
        """
        from fakemq.core import changes  # few tests do this

        flag("offsets", offsets)
        self._call(lambda: changes.delete_group(self._core, self.name, offsets=offsets))

    def __repr__(self) -> str:
        members = self._call(lambda: inspection.members(self._core, self.name))
        return f"<group {self.name}, {counted(len(members), 'member')}>"
