"""A slave's way to its master in controller mode.

Source: store/ha/autoswitch/AutoSwitchHAClient.java#run (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import StoreError
from fakemq.events.core import Warned
from fakemq.ha.autoswitch.cutting import cut
from fakemq.ha.autoswitch.slave_link import DISAGREED_MS, AutoSwitchSlaveEnd
from fakemq.ha.client import PAUSE_MS
from fakemq.ha.v5.client import HAClient5

if TYPE_CHECKING:
    from fakemq.ha.autoswitch.confirmed_replica import ConfirmedReplica
    from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
    from fakemq.ha.autoswitch.epochs import EpochCache
    from fakemq.ha.node import ReplicatedNode
    from fakemq.ha.slave_link import SlaveEnd
    from fakemq.net.link import Link

OTHER_MASTER = "name servers say another master"


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
        self._dialled: str | None = None
        """The address of the last attempt."""

    def start(self) -> None:
        """Wait for the address from a name server."""
        self._note_try()

    def update_master_address(self, addr: str | None) -> None:
        """Take the master's address from a name server, and connect there at once.

        The connection to another address is closed: its broker is the master no more.
        """
        if addr != self.master_address:
            self.master_address = addr
            if self.end is not None:
                self.end.close(OTHER_MASTER)
            self._connect()

    def _make_end(self, link: Link) -> SlaveEnd:
        return AutoSwitchSlaveEnd(link, self._node, self, self._now_ms())

    def _connect(self) -> None:
        if self.end is None and self.master_address is not None:
            try:
                cut(self._node, self.store, self.epochs, self.store.whole_end())
            except StoreError as error:
                text = f"the log cannot be cut, so its master is not asked: {error}"
                self._node.journal.add(Warned(node=self._node.name, text=text))
                self._wait_until(self._now_ms() + PAUSE_MS)
                return
        self._dialled = self.master_address
        super()._connect()

    def _opened(self, end: SlaveEnd | None) -> None:
        super()._opened(end)
        if self.end is not end or not isinstance(end, AutoSwitchSlaveEnd):
            return
        if self._dialled == self.master_address:
            end.begin()
        else:
            end.close(OTHER_MASTER)
            self._connect()

    def _next_try_ms(self, lost: SlaveEnd | None) -> int:
        due_ms = super()._next_try_ms(lost)
        disagreed = isinstance(lost, AutoSwitchSlaveEnd) and lost.disagreed
        return due_ms + DISAGREED_MS if disagreed else due_ms
