"""How a broker under a controller cuts its log off.

Source: store/ha/autoswitch/AutoSwitchHAService.java#truncateInvalidMsg,
AutoSwitchHAClient.java#doTruncate (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.events.replication import LogTruncated

if TYPE_CHECKING:
    from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
    from fakemq.ha.autoswitch.epochs import EpochCache
    from fakemq.ha.node import ReplicatedNode


def cut(
    node: ReplicatedNode,
    store: ConfirmedStore,
    epochs: EpochCache,
    phy_offset: int,
    peer: str = "",
) -> None:
    """Cut the store off at an offset, or at its end if that is lower, and the epochs with it.

    An epoch of which the log has no byte is removed, too: another master may begin there. The
    one that begins at 0 stays, because an empty log has no other common point with its master.
    ``peer`` is the master whose epochs say so. Raise StoreError if the disk refuses it.
    """
    end = store.log.max_offset
    if phy_offset < end:
        store.cut(phy_offset)
    epochs.truncate_suffix_by_offset(max(1, min(phy_offset, end)))
    if phy_offset < end:
        event = LogTruncated(node=node.name, phy_offset=phy_offset, end_offset=end, peer=peer)
        node.journal.add(event)
