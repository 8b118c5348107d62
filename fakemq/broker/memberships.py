"""The memberships of each connection in groups of producers, or of consumers.

One client may be in tens of thousands of groups, and each heartbeat and each end of a connection
asks for them. So nothing here walks over all of them: the first is found at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.broker.client_channel import ClientChannelInfo
    from fakemq.net.session import Session


class Memberships:
    """For each connection its clients, the one that is silent for the longest time first."""

    def __init__(self) -> None:
        self._channels: dict[Session, OrderedDict[ClientChannelInfo, OrderedDict[str, None]]] = {}
        """Connection → client → its groups. As in Java there is a client for each heartbeat that
        has brought new groups."""

    def add(self, group: str, channel: ClientChannelInfo) -> None:
        """Add a membership that is new."""
        of_session = self._channels.setdefault(channel.session, OrderedDict())
        of_session.setdefault(channel, OrderedDict())[group] = None

    def refresh(self, channel: ClientChannelInfo) -> None:
        """Note a heartbeat of a client now."""
        channel.refresh()
        self._channels[channel.session].move_to_end(channel)

    def remove(self, group: str, channel: ClientChannelInfo) -> None:
        """Remove a membership."""
        of_session = self._channels[channel.session]
        groups = of_session[channel]
        del groups[group]
        if not groups:
            del of_session[channel]
            if not of_session:
                del self._channels[channel.session]

    def channels(self, session: Session) -> Collection[ClientChannelInfo]:
        """Return the clients of a connection that are in any group."""
        return self._channels.get(session, {}).keys()

    def first(self, session: Session) -> tuple[str, ClientChannelInfo] | None:
        """Return a group of the client that is silent for the longest time; None without any."""
        of_session = self._channels.get(session)
        if of_session is None:
            return None
        channel, groups = next(iter(of_session.items()))
        return next(iter(groups)), channel

    def sessions(self) -> list[Session]:
        """Return the connections that have memberships."""
        return list(self._channels)
