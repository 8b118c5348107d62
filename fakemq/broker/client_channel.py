"""A client as the member tables of a broker know it.

Source: broker/client/ClientChannelInfo.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.events.core import MemberChanged
from fakemq.protocol.bodies.connection import Connection

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.net.session import Session
    from fakemq.protocol.codes import LanguageCode

CHANNEL_EXPIRED_TIMEOUT_MS = 120_000
"""A member that sent no heartbeat for longer than this is put out by the next scan."""


class ClientChannelInfo:
    """One client on one connection.

    A heartbeat names all groups of its client, and the tables of those that are new keep the same
    object: what refreshes one of them refreshes all, as in Java. ``heard_ms`` is on the axis by
    which the peer lives, ``last_update_timestamp`` on the wall.
    """

    __slots__ = (
        "_clock",
        "client_id",
        "heard_ms",
        "language",
        "last_update_timestamp",
        "session",
        "version",
    )

    def __init__(
        self,
        session: Session,
        client_id: str,
        language: LanguageCode,
        version: int,
        clock: NodeClock,
    ) -> None:
        self.session = session
        self.client_id = client_id
        self.language = language
        self.version = version
        self._clock = clock
        self.refresh()

    def refresh(self) -> None:
        """The client was heard just now."""
        self.heard_ms = self._clock.elapsed_ms(outside=self.session.outside)
        self.last_update_timestamp = self._clock.now_ms()

    def connection(self) -> Connection:
        """As admin tools are told of it."""
        return Connection(
            client_id=self.client_id,
            client_addr=self.session.remote_addr,
            language=self.language.name,
            version=self.version,
        )

    def changed(self, node: str, kind: str, group: str, how: str) -> MemberChanged:
        """The news that it joined or left a group of producers or consumers."""
        return MemberChanged(
            node=node,
            kind=kind,
            group=group,
            client_id=self.client_id,
            peer=self.session.remote_addr,
            how=how,
        )

    @property
    def expired(self) -> bool:
        silent_ms = self._clock.elapsed_ms(outside=self.session.outside) - self.heard_ms
        return silent_ms > CHANNEL_EXPIRED_TIMEOUT_MS

    def __repr__(self) -> str:
        return f"<client {self.client_id} at {self.session.remote_addr}>"
