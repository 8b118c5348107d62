"""A client as the member tables of a broker know it.

Source: broker/client/ClientChannelInfo.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.events.core import MemberChanged

if TYPE_CHECKING:
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.connection import ClientConnection
    from fakemq.protocol.codes import LanguageCode

CHANNEL_EXPIRED_TIMEOUT_MS = 120_000
"""The next scan removes a member that sent no heartbeat for longer than this; of consumers of
5.5.0, channelExpiredTimeout says how long."""


class ClientChannelInfo:
    """One client on one connection.

    A heartbeat names all groups of its client. The tables of the groups that are new keep the same
    object, so that a refresh in one group refreshes all of them, as in Java.
    ``last_heartbeat_ms`` is elapsed time on the peer's axis, ``last_update_timestamp`` wall time.
    """

    __slots__ = (
        "_clock",
        "client_id",
        "epoch",
        "language",
        "last_heartbeat_ms",
        "last_update_timestamp",
        "session",
        "test",
        "version",
    )

    def __init__(
        self,
        session: Session,
        client_id: str,
        language: LanguageCode,
        version: int,
        node: NodeContext[Any],
    ) -> None:
        self.session = session
        self.client_id = client_id
        self.language = language
        self.version = version
        self._clock = node.clock
        self.epoch = node.journal.epoch
        """The journal's epoch in which it joined; a reset of the cluster begins a new one."""
        self.test = node.journal.test
        """The name of the test that ran then; "" if it is unknown."""
        self.refresh()

    def refresh(self) -> None:
        """Note a heartbeat of the client now."""
        self.last_heartbeat_ms = self._clock.elapsed_ms(outside=self.session.outside)
        self.last_update_timestamp = self._clock.now_ms()

    def connection(self) -> ClientConnection:
        """Return the client as admin tools show it."""
        from fakemq.protocol.bodies.connection import ClientConnection  # few tests ask

        return ClientConnection(
            client_id=self.client_id,
            client_addr=self.session.remote_addr,
            language=self.language.name,
            version=self.version,
        )

    def changed(self, node: str, kind: str, group: str, how: str) -> MemberChanged:
        """Return the event that the client joined or left a group of producers or consumers."""
        return MemberChanged(
            node=node,
            kind=kind,
            group=group,
            client_id=self.client_id,
            peer=self.session.remote_addr,
            how=how,
        )

    def is_silent(self, longer_than_ms: int) -> bool:
        """Return whether the last heartbeat is longer ago than this."""
        silent_ms = self._clock.elapsed_ms(outside=self.session.outside) - self.last_heartbeat_ms
        return silent_ms > longer_than_ms

    def __repr__(self) -> str:
        return f"<client {self.client_id} at {self.session.remote_addr}>"
