"""The store of a master that counts its replicas before it takes a message.

Source: store/CommitLog.java#asyncPutMessage (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.store.results import PutMessageStatus
from fakemq.store.store import MessageStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.store.inner_message import InnerMessage, RecordDraft
    from fakemq.store.puts import PutMessageResult


class CountedStore(MessageStore):
    """A store that refuses messages while too few replicas are in sync."""

    lacks_replicas: Callable[[InnerMessage], bool] | None = None
    """Returns whether a message is refused because too few replicas are in sync."""

    def _put(
        self,
        message: InnerMessage,
        drafts: list[RecordDraft] | PutMessageStatus,
        *,
        follow: bool = False,
    ) -> PutMessageResult:
        if self.lacks_replicas is not None and self.lacks_replicas(message):
            return self._refused(message, PutMessageStatus.IN_SYNC_REPLICAS_NOT_ENOUGH)
        return super()._put(message, drafts, follow=follow)
