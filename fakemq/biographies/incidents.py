"""Finds out what was done to topics, groups and brokers, and explains what became of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.biographies.commits import offsets_went_back
from fakemq.biographies.deleted_topics import deleted_unconsumed
from fakemq.biographies.order import order_lost, split_keys
from fakemq.biographies.resets import offsets_reset
from fakemq.biographies.same_id import stored_again

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore


def incidents(
    core: ClusterCore,
    chronicle: Chronicle,
    wants: Callable[[str], bool],
    group: str | None,
    name: Callable[[Record], str],
) -> Steps[list[str]]:
    """Return deleted topics, lost commits, resets, messages that are there twice, and lost order.

    ``name`` names a stored message; ``group`` limits them to one group.
    """
    deleted = yield from deleted_unconsumed(chronicle, wants, group, name)
    back = yield from offsets_went_back(chronicle, wants, group)
    reset = yield from offsets_reset(chronicle, wants, group)
    again = yield from stored_again(chronicle, wants, name)
    free = yield from order_lost(chronicle, wants, group, name)
    # Only clients of the gRPC front say a message group.
    split = [] if core.proxy is None else (yield from split_keys(core, chronicle, wants))
    return [*deleted, *back, *reset, *again, *free, *split]
