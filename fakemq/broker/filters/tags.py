"""Filters by tags. They compare hashes only; the client compares the texts again.

Source: broker/filter/ExpressionMessageFilter.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from fakemq.protocol.java import int32
from fakemq.protocol.subscription import SUB_ALL

if TYPE_CHECKING:
    from fakemq.protocol.bodies.heartbeat import SubscriptionData


class TagsFilter:
    """Lets through the messages whose tag has one of these hashes."""

    __slots__ = ("tags_codes",)
    is_spent = False
    """An answer costs nearly nothing."""

    def __init__(self, codes: Collection[int]) -> None:
        self.tags_codes = frozenset(codes)

    def is_matched_by_consume_queue(self, tags_code: int | None) -> bool:
        """Return whether the low 32 bits of a queue entry's tags code are one of the hashes.

        If its tags code is not known, the client alone decides.
        """
        return tags_code is None or int32(tags_code) in self.tags_codes

    def is_matched_by_commit_log(self, record: memoryview) -> bool:
        """Return True: the tag was compared by its queue entry."""
        return True

    def is_matched_by_properties(self, properties: bytes) -> bool:
        """Return True, as `is_matched_by_commit_log`."""
        return True

    @property
    def condition(self) -> frozenset[int]:
        return self.tags_codes


def tags_filter(subscription: SubscriptionData) -> TagsFilter | None:
    """Return the filter of a subscription by tags; None if every message passes."""
    if subscription.sub_string == SUB_ALL:
        return None
    return TagsFilter(subscription.code_set)
