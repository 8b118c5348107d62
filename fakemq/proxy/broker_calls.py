"""Requests to the brokers of the cluster, without bytes: through their own dispatchers.

A connection of a client is one `LocalSession` at each broker that it uses, with the client's
address. The front itself has another one at each broker, for what it asks by itself.

Source: proxy/service/message/ClusterMessageService.java (5.5.0)
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fakemq.clock.slices import called_each
from fakemq.dispatch.local import LocalLink, LocalSession
from fakemq.dispatch.node import NodeState
from fakemq.later import Later
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.proxy.status import Code, RpcError, java_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.broker.broker import Broker
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer
    from fakemq.dispatch.answers import Reply
    from fakemq.net.session import OnReply
    from fakemq.proxy.call import Peer
    from fakemq.proxy.routes import Routes

TIMEOUT_MS: Final = 2_000
"""How long the front waits for a broker. Source: proxy/processor/MessagingProcessor.java (5.5.0)"""

Asked: TypeAlias = "Later[Reply[Any]]"
FromBroker: TypeAlias = "Callable[[Broker, RemotingCommand, OnReply | None], None]"


class BrokerCalls:
    """The connections of the front, and of its clients, to the brokers of the cluster."""

    def __init__(
        self,
        name: str,
        clock: NodeClock,
        routes: Routes,
        *,
        state: Callable[[], NodeState],
        from_broker: FromBroker,
    ) -> None:
        self._name = name
        self._clock = clock
        self._routes = routes
        self._state = state
        self._from_broker = from_broker
        self.addr = ""
        self._sessions: dict[object, dict[str, LocalSession]] = {}
        """Connection of a client, or this object for the front itself → broker → its end."""
        self._late: list[Callable[[], None]] = []
        """Answers that came while the front was paused."""

    # -- asking -------------------------------------------------------------------------------

    def ask(
        self,
        connection: Peer | None,
        addr: str,
        command: RemotingCommand,
        timeout_ms: int | None = TIMEOUT_MS,
    ) -> Asked:
        """Ask the broker at ``addr``, as a client's connection or (None) as the front itself.

        Raise RpcError if there is no connection to it. The answer is an RpcError if it comes too
        late, or never will; with ``timeout_ms`` None the caller looks after the time.
        If it is abandoned, a request that the broker holds is dropped. One that it does not hold
        may be handled already: its answer is still taken.
        """
        session = self._session(connection, addr, command.code)
        pending: Asked = Later()
        timer: Timer | None = None
        running = self._state

        def answered(reply: Reply[Any] | None) -> None:
            self._clock.cancel(timer)
            value = _closed(addr) if reply is None else reply
            if running() is NodeState.RUNNING:
                pending.resolve(value)
            elif running() is NodeState.PAUSED:
                if reply is not None and not isinstance(reply.body, bytes):
                    reply.body = b"".join(reply.body)  # slices are valid in this turn only
                self._late.append(lambda: pending.resolve(value))

        opaque = session.call(command, answered)
        pending.on_abandoned = partial(session.abandon, opaque)
        if not pending.done and timeout_ms is not None:

            def over() -> None:
                session.give_up(opaque)
                pending.resolve(_timed_out(addr, timeout_ms))

            timer = self._clock.call_later(timeout_ms, over, kind="rpc_timeout")
        return pending

    def tell(self, connection: Peer | None, addr: str, command: RemotingCommand) -> None:
        """Send the broker at ``addr`` a request without an answer; raise RpcError as `ask`."""
        self._session(connection, addr, command.code).call_oneway(command)

    def _session(self, connection: Peer | None, addr: str, code: int) -> LocalSession:
        broker = self._routes.at(addr)
        if broker is None or not broker.state.is_up:
            raise _refused(addr, code)
        if connection is not None and connection.closed:
            connection = None  # what is still done for it is done by the front itself
        key: object = self if connection is None else connection
        of_connection = self._sessions.get(key)
        if of_connection is None:
            of_connection = self._sessions[key] = {}
        session = of_connection.get(broker.name)
        if session is None or session.closed:
            remote_addr = self.addr if connection is None else connection.remote_addr
            link = LocalLink(
                broker.addr,
                remote_addr,
                self._name,
                clock=self._clock,
                for_outside=connection is not None and connection.outside,
            )
            found = broker
            session = of_connection[broker.name] = broker.accept_local(
                link, lambda command, on_reply: self._from_broker(found, command, on_reply)
            )
        return session

    # -- the front's life ---------------------------------------------------------------------

    def resume(self) -> None:
        """Take the answers that came during a pause."""
        late, self._late = self._late, []
        self._clock.carry_out(called_each(late), peer=self, count=len(late))

    def connection_closed(self, connection: Peer, why: str) -> None:
        """Close what a client's connection has at brokers."""
        for session in self._sessions.pop(connection, {}).values():
            session.close(why)

    def close_all(self, why: str) -> None:
        """Close all connections to brokers."""
        sessions, self._sessions = self._sessions, {}
        self._late.clear()
        for of_connection in sessions.values():
            for session in of_connection.values():
                session.close(why)


_ASYNC: Final = frozenset(
    {
        RequestCode5.POP_MESSAGE,
        RequestCode5.POP_LITE_MESSAGE,
        RequestCode5.ACK_MESSAGE,
        RequestCode5.CHANGE_MESSAGE_INVISIBLETIME,
        RequestCode5.LITE_SUBSCRIPTION_CTL,
    }
)
"""What the proxy asks for by `invokeAsync`; for all else by `invoke`."""


def _refused(addr: str, code: int) -> RpcError:
    call = "invokeAsync$1(NettyRemotingClient.java:761)"
    if code not in _ASYNC:
        call = "invoke$5(NettyRemotingClient.java:817)"
    return java_error(
        f"connect to {addr} failed",
        "RemotingConnectException",
        f"org.apache.rocketmq.remoting.netty.NettyRemotingClient.lambda${call}",
    )


def _closed(addr: str) -> RpcError:
    return java_error(
        f"send request to <{addr}> failed",
        "RemotingSendRequestException",
        "org.apache.rocketmq.remoting.netty.NettyRemotingAbstract"
        ".requestFail(NettyRemotingAbstract.java:0)",
    )


def _timed_out(addr: str, timeout_ms: int) -> RpcError:
    return RpcError(
        Code.PROXY_TIMEOUT,
        f"wait response on the channel </{addr}> timeout, {timeout_ms}(ms)",
    )
