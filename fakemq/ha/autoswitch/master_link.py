"""A slave's connection in controller mode, at its master.

Source: store/ha/autoswitch/AutoSwitchHAConnection.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fakemq.events.core import Warned
from fakemq.ha.autoswitch.master import AutoSwitchMasterConnection, Confirmed
from fakemq.ha.autoswitch.sync_set import CaughtUp
from fakemq.ha.master_link import MasterEnd, MasterListener

if TYPE_CHECKING:
    from fakemq.ha.node import ReplicatedNode
    from fakemq.net.link import Link


class SetListener(MasterListener, Confirmed, Protocol):
    """Is notified about a slave's connection, and keeps the in-sync set."""

    def slave_reported(self, end: AutoSwitchMasterEnd, caught_up: CaughtUp | None) -> None:
        """Take a report, and when the slave had all; None if it has not all that it was sent."""

    def slave_has_all(self, end: AutoSwitchMasterEnd) -> None:
        """Take that there was nothing to send to a slave until now."""


class AutoSwitchMasterEnd(MasterEnd):
    """A slave's connection, at its master."""

    connection: AutoSwitchMasterConnection

    def __init__(self, link: Link, node: ReplicatedNode, listener: SetListener) -> None:
        self._set = listener
        self._sent_of = -1
        """Where the master's log ended at the last transfer."""
        self._sent_ms = 0
        self._had_all = False
        self._has_warned = False
        super().__init__(link, node, listener)

    def _make_connection(self) -> AutoSwitchMasterConnection:
        return AutoSwitchMasterConnection(self._node.store.log, self._set)

    @property
    def slave_id(self) -> int:
        """The id that the controller gave the slave; -1 if it has not said so."""
        return self.connection.slave_id

    @property
    def has_all(self) -> bool:
        """Whether the slave was sent everything; it may have not all of it."""
        end_offset = self._node.store.log.max_offset
        return self.connection.started and (
            self.connection.next_transfer_from_where in (end_offset, -1)
        )

    def now(self) -> CaughtUp:
        return CaughtUp(self.outside, self._now_ms())

    def _receive(self, data: bytes) -> None:
        super()._receive(data)
        if self.connection.handshake_due and not self.closed:
            self._write(self.connection.handshake())

    def _acknowledged(self, offset: int, first: bool) -> None:
        self.acknowledged_offset = offset
        caught_up = None
        if offset >= self._sent_of:
            is_end = offset == self._node.store.log.max_offset
            caught_up = self.now() if is_end else CaughtUp(self.outside, self._sent_ms)
        self._set.slave_reported(self, caught_up)
        if not self.closed:
            super()._acknowledged(offset, first)
        if first and not self.closed and self.has_all:
            self._name_epoch()

    def _name_epoch(self) -> None:
        """Let a slave that has all know the present epoch, as a heartbeat does.

        Differs: Java's first heartbeat comes after 5 s. A slave of an empty log that is elected
        before does not know the epoch, and the old master never finds a common point with it.
        """
        heartbeat = self.connection.heartbeat()
        if heartbeat:
            self._write(heartbeat)

    def pump(self) -> None:
        if self._had_all and not self.closed:
            self._set.slave_has_all(self)
        before = self.connection.next_transfer_from_where
        super().pump()
        if self.connection.uncovered_at >= 0 and not self._has_warned:
            self._has_warned = True
            text = (
                f"{self.remote_addr} is sent nothing: no epoch covers offset"
                f" {self.connection.uncovered_at}; empty the slave's store"
            )
            self._node.journal.add(Warned(node=self._node.name, text=text))
        if self.connection.next_transfer_from_where != before:
            self._sent_of, self._sent_ms = self._node.store.log.max_offset, self._now_ms()
        self._had_all = self.has_all
