"""Handles on topics and consumer groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from fakemq.core import inspection
from fakemq.core.views import Member
from fakemq.handles.running import Handle, Running

if TYPE_CHECKING:
    from fakemq.core.changes import GroupSettings


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

    def delete(self) -> None:
        """Delete the topic at every broker that has it; offsets that groups committed stay."""
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
        """Return how many stored messages of ``topic`` are beyond the committed offsets."""
        return self._call(lambda: inspection.lag(self._core, self.name, topic))

    def offsets(self, topic: str) -> dict[tuple[str, int], int]:
        """Return the committed offsets: (broker name, queue id) → the next offset to consume."""
        return self._call(lambda: inspection.offsets(self._core, self.name, topic))

    def members(self) -> list[Member]:
        """Return the consumers that at least one broker has as members now."""
        return self._call(lambda: inspection.members(self._core, self.name))

    def set(self, **settings: Unpack[GroupSettings]) -> None:
        """Change settings of the group, such as ``retry_max_times=3``; ValueError if bad."""
        from fakemq.core import changes  # few tests do this

        self._call(lambda: changes.change_group(self._core, self.name, **settings))

    def suspend(self) -> None:
        """Refuse every member's pulls; pulls that are held already end at their usual time."""
        self.set(consume_enable=False)

    def resume(self) -> None:
        """Let members pull again."""
        self.set(consume_enable=True)

    def delete(self, *, offsets: bool = False) -> None:
        """Delete the group at every broker, with ``offsets=True`` its committed offsets, too.

        A member's next pull creates the group again.
        """
        from fakemq.core import changes  # few tests do this

        self._call(lambda: changes.delete_group(self._core, self.name, offsets=offsets))

    def __repr__(self) -> str:
        return f"<group {self.name}, {len(self.members())} members>"
