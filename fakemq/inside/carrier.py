"""Carries the tasks of a client inside a cluster: memory links, the cluster's clock, calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from fakemq.client.errors import (
    RemotingConnectError,
    RemotingError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.clock.node_clock import NodeClock
from fakemq.inside.performing import Performing
from fakemq.net.outbound import Outbound

if TYPE_CHECKING:
    from fakemq.client.carrier import Answer, Cancellable, OnRequest, Performed, Reply
    from fakemq.client.operation import Call
    from fakemq.clock.timers import Timer
    from fakemq.core.cluster import ClusterCore
    from fakemq.net.session import Session
    from fakemq.protocol.command import RemotingCommand
    from fakemq.protocol.signature import Credentials


class InsideCarrier:
    """A `fakemq.client.carrier.Carrier`, and the node of the cluster that its client is.

    Functions of the user are called on the cluster's thread, one at a time, when no node is
    handling anything.
    """

    def __init__(
        self, core: ClusterCore, name: str, credentials: Credentials | None = None
    ) -> None:
        self.name = name
        self._credentials = credentials
        self.journal = core.journal
        self.clock = NodeClock(core.clock, name, core.journal)
        self.outbound = Outbound(self, core.network, core.open_tcp, self._dispatch)
        self.on_request: OnRequest = _refuse
        self._guests = core.guests

    def wall_ms(self) -> int:
        """Return the wall time of this node, in milliseconds since the epoch."""
        return self.clock.now_ms()

    def elapsed_ms(self) -> int:
        """Return the cluster's elapsed time, in milliseconds."""
        return self.clock.elapsed_ms()

    def call_later(self, delay_ms: int, callback: Callable[[], None], *, kind: str) -> Cancellable:
        """Call ``callback`` after ``delay_ms`` of the cluster's time."""
        return _NodeTimer(self.clock, self.clock.call_later(delay_ms, callback, kind=kind))

    def soon(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the network settles, after all that is being handled now."""
        self.outbound.soon(callback)

    def request(self, call: Call, reply: Reply) -> None:
        """Send a request; pass its response or error to ``reply``."""
        if self._credentials is not None:
            self._credentials.sign(call.command)
        if call.command.is_oneway:
            self.outbound.invoke_oneway(call.addr, call.command, partial(_sent, call.addr, reply))
        else:
            _OpenRequest(call, reply).send(self.outbound)

    def perform(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> Cancellable:
        """Call a function of the user soon, see `Performing`; pass its result to ``done``."""
        performing = Performing(self, done)
        performing.begin(self._guests, function, args)
        return performing

    # -- its end, and its links ---------------------------------------------------------------

    def close(self, why: str) -> None:
        """End every connection and timer."""
        self.clock.cancel_all()
        self.outbound.close(why)

    def vanish(self) -> None:
        """End without a sign, as when the machine dies: no peer sees a connection close."""
        self.clock.cancel_all()
        self.outbound.pause()

    def session_closed(self, session: Session) -> None:
        """Do nothing: `Outbound` answers each open request with None."""

    def _dispatch(self, session: Session, request: RemotingCommand) -> None:
        """Pass a broker's request to the client."""

        def answer(command: RemotingCommand) -> None:
            if command.is_oneway:
                if self._credentials is not None:
                    self._credentials.sign(command)
                session.invoke_oneway(command)
            else:
                session.send(command, answers=request.code)

        self.on_request(session.remote_addr, request, answer)

    def __repr__(self) -> str:
        return f"<carrier of {self.name}>"


def _refuse(addr: str, request: RemotingCommand, answer: Answer) -> None:
    """Ignore a request that comes before there is a client."""


def _sent(addr: str, reply: Reply, was_sent: bool) -> None:
    reply(None if was_sent else RemotingConnectError(addr))


class _NodeTimer:
    """A timer of a node that the node forgets when it is cancelled."""

    __slots__ = ("_clock", "_timer")

    def __init__(self, clock: NodeClock, timer: Timer) -> None:
        self._clock = clock
        self._timer = timer

    def cancel(self) -> None:
        self._clock.cancel(self._timer)


class _OpenRequest:
    """One request that waits for its response."""

    __slots__ = ("_call", "_reply", "_session")

    def __init__(self, call: Call, reply: Reply) -> None:
        self._call = call
        self._reply = reply
        self._session: Session | None = None

    def send(self, outbound: Outbound) -> None:
        addr, command, timeout_ms = self._call
        session = self._session = outbound.session(addr)
        if session is None:
            outbound.invoke(addr, command, timeout_ms, self._replied, self._opened)
        else:  # as nearly always
            session.invoke(command, timeout_ms, self._replied)

    def _opened(self, session: Session) -> None:
        self._session = session

    def _replied(self, response: RemotingCommand | None) -> None:
        self._reply(self._failure() if response is None else response)

    def _failure(self) -> RemotingError:
        """Return why there is no response. There are three cases:

        1. There was no connection.
        2. The connection was lost.
        3. The time is over. Then the connection is closed, so that no late answer is read.

        Source: remoting/netty/NettyRemotingClient.java#invokeSync (4.9.7)
        """
        addr, _, timeout_ms = self._call
        session = self._session
        if session is None:
            return RemotingConnectError(addr)
        if session.closed:
            return RemotingSendRequestError(addr)
        session.close("no response in time")
        return RemotingTimeoutError(addr, timeout_ms)
