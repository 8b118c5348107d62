"""The filter of a pull, as the store and held pulls call it."""

from __future__ import annotations

from typing import Protocol

from fakemq.store.message_filter import MessageFilter


class PullFilter(MessageFilter, Protocol):
    """Source: store/MessageFilter.java#isMatchedByCommitLog (4.9.7), whose arguments exclude
    each other
    """

    def is_matched_by_properties(self, properties: bytes) -> bool:
        """As by the commit log, of a message that has just arrived, its properties as stored."""
