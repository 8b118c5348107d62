"""A slave's way to its master in controller mode.

Source: store/ha/autoswitch/AutoSwitchHAClient.java#run (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.ha.autoswitch.slave_link import DISAGREED_MS, AutoSwitchSlaveEnd
from fakemq.ha.v5.client import HAClient5

if TYPE_CHECKING:
    from fakemq.ha.autoswitch.confirmed_replica import ConfirmedReplica
    from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
    from fakemq.ha.autoswitch.epochs import EpochCache
    from fakemq.ha.node import ReplicatedNode
    from fakemq.ha.slave_link import SlaveEnd
    from fakemq.net.link import Link


class AutoSwitchHAClient(HAClient5):
    """One slave's connection to its master's HA port, which only name servers say."""

    def __init__(
        self,
        node: ReplicatedNode,
        store: ConfirmedStore,
        follower: ConfirmedReplica,
        epochs: EpochCache,
        broker_id: int,
    ) -> None:
        super().__init__(node, lambda: None)
        self.store = store
        self.replica = follower
        self.epochs = epochs
        self.broker_id = broker_id

    def start(self) -> None:
        """Wait for the address from a name server."""
        self._note_try()

    def update_master_address(self, addr: str) -> None:
        """Take the master's address from a name server; an open connection stays.

        A new one is tried at once.
        """
        if addr != self.master_address:
            self.master_address = addr
            self._connect()

    def _make_end(self, link: Link) -> SlaveEnd:
        return AutoSwitchSlaveEnd(link, self._node, self, self._now_ms())

    def _connect(self) -> None:
        if self.end is None and self.master_address is not None:
            offset = self.store.cut_tail()
            if offset is not None:
                self.epochs.truncate_suffix_by_offset(offset)
        super()._connect()

    def _opened(self, end: SlaveEnd | None) -> None:
        super()._opened(end)
        if self.end is end and isinstance(end, AutoSwitchSlaveEnd):
            end.begin()

    def _next_try_ms(self, lost: SlaveEnd | None) -> int:
        due_ms = super()._next_try_ms(lost)
        disagreed = isinstance(lost, AutoSwitchSlaveEnd) and lost.disagreed
        return due_ms + DISAGREED_MS if disagreed else due_ms
