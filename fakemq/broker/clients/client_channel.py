"""A client as the member tables of a broker know it, and the requests that the broker sends to it.

Source: broker/client/ClientChannelInfo.java (4.9.7)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from fakemq.events.core import MemberChanged
from fakemq.faults.points import TO_CLIENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import OnReply, Session
    from fakemq.protocol.bodies.connection import ClientConnection
    from fakemq.protocol.codes import LanguageCode
    from fakemq.protocol.command import RemotingCommand

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


# The requests that a broker sends to its clients, with and without an answer.
#
# Source: broker/client/net/Broker2Client.java (4.9.7)

CALL_TIMEOUT_MS = 10_000


class ClientCalls:
    """Sends requests to the clients of one broker."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        *,
        client_ids: Callable[[Session], set[str]],
    ) -> None:
        self.node = node
        self.client_ids = client_ids
        """Returns the ids of the clients that registered on a connection, for scopes of faults."""

    def send_oneway(self, session: Session, command: RemotingCommand) -> None:
        """Send a client a request that wants no answer."""

        def send() -> None:
            session.invoke_oneway(command)

        if not (
            self.node.faults.at(TO_CLIENT)
            and TO_CLIENT.intercept(self, session, command, send, lambda: None)
        ):
            send()

    def call(
        self,
        session: Session,
        command: RemotingCommand,
        on_answer: OnReply,
        timeout_ms: int = CALL_TIMEOUT_MS,
    ) -> None:
        """Send a client a request; ``on_answer`` gets its response, or None after ``timeout_ms``.

        If the client disconnects, None comes after the whole time, too: a Java broker does not
        notice. Source: Broker2Client.java#callClient
        """
        clock, outside = self.node.clock, session.outside
        until_ms = clock.elapsed_ms(outside=outside) + timeout_ms

        def answered(response: RemotingCommand | None) -> None:
            left_ms = until_ms - clock.elapsed_ms(outside=outside)
            if response is None and left_ms > 0:
                clock.call_later(
                    left_ms, lambda: on_answer(None), kind="rpc_timeout", outside=outside
                )
            else:
                on_answer(response)

        if self.node.faults.at(TO_CLIENT):
            # A fault may send the request twice, and so there may be two answers: the first counts.
            answers = iter([answered])

            def answer(response: RemotingCommand | None) -> None:
                next(answers, _ignored)(response)

            def send() -> None:
                session.invoke(command, timeout_ms, answer)

            def lose() -> None:
                clock.call_later(
                    timeout_ms, lambda: answer(None), kind="rpc_timeout", outside=outside
                )

            if TO_CLIENT.intercept(self, session, command, send, lose):
                return
        session.invoke(command, timeout_ms, answered)


def _ignored(response: RemotingCommand | None) -> None:
    pass


# The memberships of each connection in groups of producers, or of consumers.
#
# One client may be in tens of thousands of groups, and each heartbeat and each end of a connection
# asks for them. So nothing here walks over all of them: the first is found at once.


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
