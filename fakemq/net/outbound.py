"""Requests of a node to other nodes: one session for each address, opened on first use.

An address of the cluster's own nodes is reached in memory, any other over TCP. No call waits: each
takes a function that is called with the reply, or with None if the peer cannot be reached or does
not answer in time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from fakemq.later import Later
from fakemq.net.link import EndpointT, Link
from fakemq.net.memory import MemoryNetwork
from fakemq.net.session import Dispatch, OnReply, Owner, Session
from fakemq.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials

CONNECT_TIMEOUT_MS = 3_000


class OpenTcp(Protocol):
    """Connects to ``host:port``, plainly or by TLS; calls ``opened`` with the result of ``make``,
    None on failure."""

    def __call__(
        self,
        addr: str,
        make: Callable[[Link], EndpointT],
        opened: Callable[[EndpointT | None], None],
        by_tls: bool,
        /,
    ) -> None: ...


class OutboundConfig(Protocol):
    """The keys of Java's NettyClientConfig that a node's own connections obey."""

    use_tls: bool
    client_channel_max_idle_time_seconds: int
    client_close_socket_if_timeout: bool


class Outbound:
    """The connections that ``owner`` opened, by address.

    Without ``config`` they use no TLS, are idle as long as those of a `Session`, and no time-out
    closes them.
    """

    def __init__(
        self,
        owner: Owner,
        network: MemoryNetwork,
        open_tcp: OpenTcp | None = None,
        dispatch: Dispatch | None = None,
        config: OutboundConfig | None = None,
    ) -> None:
        self._owner = owner
        self._network = network
        self._open_tcp = open_tcp
        self._dispatch = dispatch
        self._config = config
        self.keys: Credentials | None = None
        """What signs each request, as a start of the owner says; None signs none."""
        self._sessions: dict[str, Session] = {}
        self._opening: dict[str, list[Callable[[Session | None], None]]] = {}
        """Address → the calls that wait until its session is open."""

    def is_inside(self, addr: str) -> bool:
        """Return whether a node of the cluster listens at ``addr``."""
        return self._network.knows(addr)

    def dial(
        self,
        addr: str,
        make: Callable[[Link], EndpointT],
        opened: Callable[[EndpointT | None], None],
        *,
        by_tls: bool = False,
    ) -> None:
        """Connect to ``addr``; call ``opened`` with the result of ``make``, or None on failure.

        Only connections to addresses outside the cluster use TLS.
        """
        faults = self._network.links.faults
        if faults is not None and faults.swallows(
            self._owner,
            addr,
            lambda: self.dial(addr, make, opened, by_tls=by_tls),
            lambda: opened(None),
        ):
            return
        if self._network.knows(addr):
            opened(self._network.connect(addr, self._owner.name, make))
        elif self._open_tcp is None:
            opened(None)
        else:
            self._open_tcp(addr, make, opened, by_tls)

    def invoke(
        self,
        addr: str,
        command: RemotingCommand,
        timeout_ms: int,
        on_reply: OnReply,
        on_open: Callable[[Session], None] | None = None,
    ) -> None:
        """Send a request to ``addr``; ``on_reply`` gets the response, or None if there is none.

        ``on_open`` is called with the session just before the request is sent on it. With
        clientCloseSocketIfTimeout a time-out closes the connection.
        Source: remoting/netty/NettyRemotingClient.java#invokeSync (4.9.7)
        """

        def send(session: Session | None) -> None:
            if session is None:
                on_reply(None)
                return
            if on_open is not None:
                on_open(session)
            if self.keys is not None:
                self.keys.sign(command)
            config = self._config
            closing = config is not None and config.client_close_socket_if_timeout
            session.invoke(command, timeout_ms, on_reply, close_on_timeout=closing)

        self._with_session(addr, send)

    def ask(
        self,
        addr: str,
        command: RemotingCommand,
        timeout_ms: int,
        is_wanted: Callable[[], bool] | None = None,
    ) -> Later[RemotingCommand | None]:
        """Send a request to ``addr``, and return its response; None if there is none.

        With ``is_wanted``, a caller that was stopped meanwhile gets nothing, not even None.
        """
        response: Later[RemotingCommand | None] = Later()

        def answered(reply: RemotingCommand | None) -> None:
            if is_wanted is None or is_wanted():
                response.resolve(reply)

        self.invoke(addr, command, timeout_ms, answered)
        return response

    def invoke_oneway(
        self,
        addr: str,
        command: RemotingCommand,
        on_sent: Callable[[bool], None] = lambda was_sent: None,
    ) -> None:
        """Send a request without an answer; it is lost if ``addr`` cannot be reached.

        ``on_sent`` is called with whether it was sent.
        """

        def send(session: Session | None) -> None:
            if session is not None:
                if self.keys is not None:
                    self.keys.sign(command)
                session.invoke_oneway(command)
            on_sent(session is not None)

        self._with_session(addr, send)

    def connect(self, addr: str, opened: Callable[[Session | None], None]) -> None:
        """Open the session to ``addr`` if it is not open; call ``opened`` with it, or with None."""
        self._with_session(addr, opened)

    def soon(self, act: Callable[[], None]) -> None:
        """Call ``act`` on the network's next settling, after all that is being handled now."""
        self._network.post(act)

    def session(self, addr: str) -> Session | None:
        """Return the open session to ``addr``; None if there is none."""
        session = self._sessions.get(addr)
        return None if session is None or session.closed else session

    def close(self, why: str) -> None:
        """Close every connection, also those that are being opened."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.close(why)
        opening, self._opening = self._opening, {}
        for uses in opening.values():
            for use in uses:
                use(None)

    def pause(self) -> None:
        for session in self._sessions.values():
            session.pause()

    def resume(self) -> None:
        for session in list(self._sessions.values()):  # a copy: a received request may open one
            session.resume()

    def _with_session(self, addr: str, use: Callable[[Session | None], None]) -> None:
        session = self.session(addr)
        if session is not None:
            use(session)
        elif addr in self._opening:
            self._opening[addr].append(use)
        else:
            self._opening[addr] = [use]
            self.dial(
                addr,
                self._make,
                lambda opened: self._opened(addr, opened),
                by_tls=self._config is not None and self._config.use_tls,
            )

    def _make(self, link: Link) -> Session:
        if self._config is None:
            return Session(link, self._owner, self._dispatch)
        idle_ms = self._config.client_channel_max_idle_time_seconds * 1000
        return Session(link, self._owner, self._dispatch, idle_ms)

    def _opened(self, addr: str, session: Session | None) -> None:
        uses = self._opening.pop(addr, None)
        if uses is None:  # closed meanwhile: a stopped node must not register
            if session is not None:
                session.close("no longer wanted")
            return
        if session is not None:
            self._sessions[addr] = session
        for use in uses:
            use(session)
