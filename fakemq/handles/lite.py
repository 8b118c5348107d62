"""The handle on the lite topics of one parent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.config.checked import flag, text, whole
from fakemq.handles.running import Handle, Running
from fakemq.handles.values import Listing

if TYPE_CHECKING:
    from fakemq.core.lite import LiteTopic


class LiteHandle(Handle):
    """The lite topics of a parent, at all running masters that have it.

    Raise LookupError if none has, ConfigError for a topic of another type, and for brokers without
    enableLmq and enableMultiDispatch.
    """

    def __init__(self, running: Running, parent: str) -> None:
        super().__init__(running)
        self.parent = parent

    def bind(
        self,
        group: str,
        *,
        exclusive: bool = False,
        wildcard: bool = False,
        quota: int | None = None,
        max_event_count: int | None = None,
        reset_offset: bool = False,
    ) -> None:
        """Let a group consume these lite topics; a group that does not exist is created.

        :param exclusive: a lite topic has one client of the group at a time
        :param wildcard: the clients get the messages of all lite topics
        :param quota: to how many lite topics, and 300 more, a client subscribes at most; 2,000 by
            default
        :param max_event_count: how many lite topics with news wait for one client; 100 by
            default
        :param reset_offset: a client that subscribes to a lite topic that another client had, or
            that was unsubscribed, begins at its first message
        """
        from fakemq.core.lite import bind
        from fakemq.protocol.v5 import lite

        text("group", group)
        model = lite.EXCLUSIVE if flag("exclusive", exclusive) else lite.SHARED
        attributes = {lite.SUB_MODEL: model}
        if flag("wildcard", wildcard):
            attributes[lite.WILDCARD] = "true"
        if quota is not None:
            attributes[lite.CLIENT_QUOTA] = str(whole("quota", quota, -1, (1 << 31) - 1))
        if max_event_count is not None:
            events = whole("max_event_count", max_event_count, 10, (1 << 31) - 1)
            attributes[lite.MAX_EVENT_COUNT] = str(events)
        if flag("reset_offset", reset_offset):
            attributes[lite.RESET_EXCLUSIVE] = "true"
            attributes[lite.RESET_UNSUBSCRIBE] = "true"
        self._call(lambda: bind(self._core, self.parent, group, attributes))

    def expire_after(self, minutes: int) -> None:
        """Let a lite topic end after this time without a message; -1 for never.

        Brokers look every 2 min, and not in the first quarter of an hour after their start.
        """
        from fakemq.broker.v5.attributes import LITE_MAX_MINUTES as MAX_MINUTES
        from fakemq.core.lite import expire_after

        whole("minutes", minutes, -1, MAX_MINUTES)
        self._call(lambda: expire_after(self._core, self.parent, minutes))

    def topics(self) -> list[LiteTopic]:
        """Return the lite topics that have messages or subscribers, by broker and name."""
        from fakemq.core.lite import lite_topics  # few tests have lite topics

        return Listing(self._call(lambda: lite_topics(self._core, self.parent)))

    def unsubscribe(self, name: str, group: str) -> int:
        """Take a lite topic from all clients of a group, as a client in an exclusive group does.

        Each is notified to unsubscribe. Return how many there were; raise LookupError if there was
        none.
        """
        from fakemq.core.lite import unsubscribe

        text("name", name)
        text("group", group)
        return self._call(lambda: unsubscribe(self._core, self.parent, name, group))

    def __repr__(self) -> str:
        return f"<lite topics of {self.parent}>"
