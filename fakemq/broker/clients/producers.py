"""The clients of each producer group.

Source: broker/client/ProducerManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from fakemq.broker.clients.client_channel import (
    CHANNEL_EXPIRED_TIMEOUT_MS,
    ClientChannelInfo,
    Memberships,
)
from fakemq.clock.slices import leaving
from fakemq.dispatch.outcomes import required

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import Session


class ProducerManager:
    """The producers of one broker, by group and connection, and by client id.

    Two rules are Java's:
    1. A client id leads to the connection that registered last with it. It is forgotten when the
       client leaves *any* of its groups.
    2. A group whose last member unregisters is removed. A group whose last member disconnects or
       expires stays known, and empty.
    """

    def __init__(self, node: NodeContext[BrokerConfig]) -> None:
        self._node = node
        self._table: dict[str, dict[Session, ClientChannelInfo]] = {}
        self._memberships = Memberships()
        self._client_sessions: dict[str, Session] = {}
        self._turn = 0

    # -- members come and go ------------------------------------------------------------------

    expired_timeout_ms = CHANNEL_EXPIRED_TIMEOUT_MS
    """How long a member may be silent."""

    def register(self, group: str, channel: ClientChannelInfo) -> None:
        """Add or refresh a member. Source: ProducerManager.java#registerProducer (4.9.7)"""
        channels = self._table.setdefault(group, {})
        present = channels.get(channel.session)
        if present is not None:
            self._memberships.refresh(present)
            return
        channels[channel.session] = channel
        self._memberships.add(group, channel)
        self._client_sessions[channel.client_id] = channel.session
        self._changed(group, channel, "registered")

    def unregister(self, group: str, session: Session, client_id: str | None) -> None:
        """Remove a client from a group, at its own request.

        Raise NullFieldError if a group with members is left by a client without an id.

        Source: ProducerManager.java#unregisterProducer (4.9.7)
        """
        channels = self._table.get(group)
        if not channels:
            return
        self._remove(group, session, "unregistered")
        self._client_sessions.pop(required(client_id, "ClientChannelInfo", "clientId"), None)
        if not channels:
            del self._table[group]

    def session_closed(self, session: Session) -> None:
        """Remove the members of a connection that was closed."""
        if self._memberships.first(session) is not None:
            self._node.clock.carry_out(self._leave_all(session), peer=leaving(session))

    def _leave_all(self, session: Session) -> Steps[None]:
        while (first := self._memberships.first(session)) is not None:
            self._leave(first[0], session, "closed")
            yield

    def expire(self, session: Session) -> Steps[bool]:
        """Remove the members without a heartbeat for 120 s; return whether there was any."""
        found = False
        while (first := self._memberships.first(session)) is not None:
            group, channel = first
            if not channel.is_silent(self.expired_timeout_ms):
                break
            self._leave(group, session, "expired")
            found = True
            yield
        return found

    def reset(self) -> None:
        """Forget the members whose connections are closed."""
        for session in self._memberships.sessions():
            while session.closed and (first := self._memberships.first(session)) is not None:
                group, channel = first
                self._memberships.remove(group, channel)
                del self._table[group][session]
        self._table = {group: channels for group, channels in self._table.items() if channels}
        self._client_sessions = {
            client_id: session
            for client_id, session in self._client_sessions.items()
            if not session.closed
        }

    # -- reading ------------------------------------------------------------------------------

    def channels(self, group: str) -> list[ClientChannelInfo] | None:
        """Return the members of a group, the oldest first; None for an unknown group."""
        channels = self._table.get(group)
        return None if channels is None else list(channels.values())

    def channels_of(self, session: Session) -> Collection[ClientChannelInfo]:
        """Return the clients of one connection, the one that is silent longest first."""
        return self._memberships.channels(session)

    def is_member(self, group: str | None, session: Session) -> bool:
        """Return whether a connection is a member of a group."""
        return group is not None and session in self._table.get(group, ())

    def groups(self) -> list[str]:
        """Return every known group, empty ones included."""
        return list(self._table)

    def available_channel(
        self, group: str, allowed: Callable[[Session], bool] = lambda _: True
    ) -> Session | None:
        """Return a connection of the group that is open and allowed, each in turn; None for none.

        Source: ProducerManager.java#getAvailableChannel (4.9.7)
        """
        # A closed one may be here that is leaving its groups in slices.
        sessions = [one for one in self._table.get(group, ()) if not one.closed and allowed(one)]
        if not sessions:
            return None
        self._turn += 1
        return sessions[self._turn % len(sessions)]

    def find_channel(self, client_id: str) -> Session | None:
        """Return the connection of a client. Source: ProducerManager.java#findChannel (4.9.7)"""
        return self._client_sessions.get(client_id)

    def snapshot(self) -> Mapping[str, tuple[ClientChannelInfo, ...]]:
        """Return the members that every group has now, the oldest first; read-only."""
        return MappingProxyType(
            {group: tuple(channels.values()) for group, channels in self._table.items()}
        )

    # -- inside -------------------------------------------------------------------------------

    def _leave(self, group: str, session: Session, how: str) -> None:
        channel = self._remove(group, session, how)
        if channel is not None:
            self._client_sessions.pop(channel.client_id, None)

    def _remove(self, group: str, session: Session, how: str) -> ClientChannelInfo | None:
        channel = self._table[group].pop(session, None)
        if channel is None:
            return None
        self._memberships.remove(group, channel)
        self._changed(group, channel, how)
        return channel

    def _changed(self, group: str, channel: ClientChannelInfo, how: str) -> None:
        self._node.journal.add(channel.changed(self._node.name, "producer", group, how))
