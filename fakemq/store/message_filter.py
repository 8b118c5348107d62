"""The questions that the store asks a subscription while it reads messages."""

from __future__ import annotations

from typing import Protocol


class MessageFilter(Protocol):
    """Source: store/MessageFilter.java (4.9.7)"""

    def is_matched_by_consume_queue(self, tags_code: int | None) -> bool:
        """Return whether a message may match, by what its queue entry says.

        The tags code is None if the entry points at an extension where there is none.
        """

    def is_matched_by_commit_log(self, record: memoryview) -> bool:
        """Return whether the message matches, by its record; asked only if the entry matched."""

    @property
    def is_spent(self) -> bool:
        """Whether the answers so far have cost so much that the get ends here."""
