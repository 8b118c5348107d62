"""Handles on topics and consumer groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from fakemq.core import inspection
from fakemq.core.views import Member
from fakemq.handles.running import Handle, Running

if TYPE_CHECKING:
    from fakemq.core.changes import GroupSettings


class TopicHandle(Handle):
    """A topic at every running master that has it; each change is told to the name servers.

    Clients hear of it with their next look at the route. ValueError for values that cannot be and
    for RocketMQ's own topics; setting anything, LookupError if no running master has the topic.
    """

    def __init__(self, running: Running, name: str) -> None:
        super().__init__(running)
        self.name = name

    def set_queues(self, read: int, write: int | None = None) -> None:
        """Set how many queues to read from and to write to; other queues keep their messages."""
        from fakemq.core import changes  # few tests do this

        write = read if write is None else write
        self._call(
            lambda: changes.change_topic(
                self._core, self.name, read_queues=read, write_queues=write
            )
        )

    def set_perm(self, perm: str) -> None:
        """Allow to read and write: ``RW``, ``R``, ``W`` or nothing."""
        from fakemq.core import changes  # few tests do this

        bits = changes.perm_of(perm)
        self._call(lambda: changes.change_topic(self._core, self.name, perm=bits))

    def delete(self) -> None:
        """Delete it everywhere, if it is anywhere; what groups have committed stays."""
        from fakemq.core import changes  # few tests do this

        self._call(lambda: changes.delete_topic(self._core, self.name))

    def __repr__(self) -> str:
        return f"<topic {self.name}>"


class GroupHandle(Handle):
    """A consumer group, whether it exists already or not."""

    def __init__(self, running: Running, name: str) -> None:
        super().__init__(running)
        self.name = name

    def lag(self, topic: str) -> int:
        """How many stored messages of ``topic`` lie behind the group's committed offsets."""
        return self._call(lambda: inspection.lag(self._core, self.name, topic))

    def offsets(self, topic: str) -> dict[tuple[str, int], int]:
        """The committed offsets: (broker name, queue id) → the next offset to consume."""
        return self._call(lambda: inspection.offsets(self._core, self.name, topic))

    def members(self) -> list[Member]:
        """The consumers that are members now, as any broker knows them."""
        return self._call(lambda: inspection.members(self._core, self.name))

    def set(self, **settings: Unpack[GroupSettings]) -> None:
        """Set something of a group, such as ``retry_max_times=3``; ValueError if it cannot be."""
        from fakemq.core import changes  # few tests do this

        self._call(lambda: changes.change_group(self._core, self.name, **settings))

    def suspend(self) -> None:
        """Let no member pull; held pulls end when they would have."""
        self.set(consume_enable=False)

    def resume(self) -> None:
        """Let members pull again."""
        self.set(consume_enable=True)

    def delete(self, *, offsets: bool = False) -> None:
        """Delete it everywhere, ``offsets`` too or not; a member's next pull makes it anew."""
        from fakemq.core import changes  # few tests do this

        self._call(lambda: changes.delete_group(self._core, self.name, offsets=offsets))

    def __repr__(self) -> str:
        return f"<group {self.name}, {len(self.members())} members>"
