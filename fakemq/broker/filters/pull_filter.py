"""The filter of a pull, as the store and held pulls call it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from fakemq.store.message_filter import MessageFilter


class PullFilter(MessageFilter, Protocol):
    """Source: store/MessageFilter.java#isMatchedByCommitLog (4.9.7), whose arguments exclude
    each other
    """

    def is_matched_by_properties(self, properties: bytes) -> bool:
        """As by the commit log, of a message that has just arrived, its properties as stored."""

    @property
    def tags_codes(self) -> frozenset[int] | None:
        """The hashes of tags that alone decide; None if properties decide, too."""

    @property
    def condition(self) -> Hashable:
        """What it asks of a record: two filters with the same condition take the same records."""
