"""Requests within a cluster that need no bytes: the gRPC front asks a broker.

A `LocalSession` is the broker's end of such a connection. Its requests pass the broker's own
dispatcher, so that the faults and the journal of requests see them as any others. The answer is the
outcome of the handler, not a frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from fakemq.clock.slices import Steps, finished, leaving
from fakemq.dispatch.answers import Parked, Reply
from fakemq.dispatch.dispatcher import NodeT, VersionedDispatcher
from fakemq.journal.noted import HANDLED
from fakemq.net.session import Dispatch, OnReply, Owner, Session
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.dispatch.answers import Outcome
    from fakemq.dispatch.dispatcher import AnyHeader

OnAnswer: TypeAlias = Callable[[Reply[Any] | None], None]
"""Gets the answer, or None if the connection is gone."""
FromNode: TypeAlias = Callable[[RemotingCommand, OnReply | None], None]
"""Gets what the node asks its peer for, and what wants the response, if one is wanted."""


class LocalLink:
    """The link of a connection without bytes."""

    outside = False
    write_blocked = False

    def __init__(
        self,
        local_addr: str,
        remote_addr: str,
        remote_node: str,
        *,
        clock: NodeClock | None = None,
        for_outside: bool = False,
    ) -> None:
        self.local_addr = local_addr
        self.remote_addr = remote_addr
        self.remote_node = remote_node
        """The node at the other end: with its end, its requests are dropped."""
        self.clock = clock
        """The clock of that node. If its requests are lost, it learns of many in slices."""
        self.for_outside = for_outside
        """Whether that node asks for a peer outside the cluster."""

    def write(self, data: bytes) -> None:
        """Drop bytes: nothing is written to such a connection."""

    def should_yield(self) -> bool:
        return False

    def close(self) -> None:
        """There is nothing to close."""

    def pause_reading(self) -> None:
        """There are no bytes."""

    def resume_reading(self) -> None:
        """There are no bytes."""


class LocalSession(Session):
    """A node's end of a connection without bytes; the other end calls `call` and `call_oneway`."""

    def __init__(
        self, link: LocalLink, owner: Owner, dispatch: Dispatch, from_node: FromNode
    ) -> None:
        super().__init__(link, owner, dispatch, 0)
        self.for_outside = link.for_outside
        self._clock_of_peer = link.clock
        self._from_node = from_node
        self._opaque = 0
        self._calls: dict[int, OnAnswer] = {}
        self._lost: set[int] = set()
        """Requests that never have an answer: a fault has lost it."""
        self._parked: dict[int, Parked[Any]] = {}
        self._paused = False
        self._arrived: deque[RemotingCommand] = deque()
        """Requests that came while the node was paused, or before the last of them was taken."""

    # -- the peer's side ----------------------------------------------------------------------

    def call(self, command: RemotingCommand, on_answer: OnAnswer) -> int:
        """Ask the node for something; the answer may be there on return. Return its number."""
        self._opaque += 1
        opaque = command.opaque = self._opaque
        if self.closed:
            on_answer(None)
        else:
            self._calls[opaque] = on_answer
            self._take(command)
        return opaque

    def call_oneway(self, command: RemotingCommand) -> None:
        """Ask the node for something that has no answer."""
        self._opaque += 1
        command.opaque = self._opaque
        command.flag |= FLAG_ONEWAY
        if not self.closed:
            self._take(command)

    def give_up(self, opaque: int) -> None:
        """Want no answer any more. A request that the node holds is dropped."""
        self._forget(opaque)
        _drop(self._parked.pop(opaque, None))

    def abandon(self, opaque: int) -> None:
        """Want no answer if the node holds the request, which is dropped, or if none comes."""
        if _drop(self._parked.pop(opaque, None)) or opaque in self._lost:
            self._forget(opaque)

    def _forget(self, opaque: int) -> OnAnswer | None:
        self._lost.discard(opaque)
        return self._calls.pop(opaque, None)

    def _take(self, command: RemotingCommand) -> None:
        if self._paused or self._arrived:
            self._arrived.append(command)
        else:
            self._receive(command)

    # -- the node's side ----------------------------------------------------------------------

    def parked(self, opaque: int, parked: Parked[Any]) -> None:
        """Remember a request that is answered later, so that its peer can give it up."""
        if opaque in self._calls:
            self._parked[opaque] = parked

    def answered(self, opaque: int, reply: Reply[Any] | None) -> None:
        """Take the answer to a request; with None, there never is one."""
        self._parked.pop(opaque, None)
        if reply is None:
            if opaque in self._calls:
                self._lost.add(opaque)
            return
        on_answer = self._forget(opaque)
        if on_answer is not None:
            on_answer(reply)

    def invoke_oneway(self, command: RemotingCommand) -> None:
        command.flag |= FLAG_ONEWAY
        self._from_node(command, None)

    def invoke(
        self,
        command: RemotingCommand,
        timeout_ms: int,
        on_reply: OnReply,
        *,
        close_on_timeout: bool = False,
    ) -> None:
        """Ask the peer, which answers or says None in time."""
        self._from_node(command, on_reply)

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        count = len(self._arrived)
        self._clock.carry_out(self._take_arrived(), peer=("resume", self), count=count)

    def _take_arrived(self) -> Steps[None]:
        while self._arrived and not self._paused and not self.closed:
            command = self._arrived[0]
            self._receive(command)
            if self._arrived and self._arrived[0] is command:  # else the connection has ended
                self._arrived.popleft()
            yield

    def _end(self, why: str) -> None:
        super()._end(why)
        self._lost.clear()
        self._parked.clear()
        self._arrived.clear()
        calls, self._calls = self._calls, {}
        steps = _tell_each(calls.values())
        if self._clock_of_peer is None:
            finished(steps)
        else:
            self._clock_of_peer.carry_out(steps, peer=leaving(self), count=len(calls))


def _drop(parked: Parked[Any] | None) -> bool:
    """Answer never, and drop the request; return False if there is an answer."""
    if parked is None or parked.done:
        return False
    parked.abandon()
    parked.resolve(None)
    return True


def _tell_each(lost: Iterable[OnAnswer]) -> Steps[None]:
    for on_answer in lost:
        on_answer(None)
        yield


class LocalDispatcher(VersionedDispatcher[NodeT]):
    """Answers requests of local sessions: with outcomes, not with commands."""

    def _park(
        self,
        session: Session,
        command: RemotingCommand,
        header: AnyHeader | None,
        parked: Parked[Any],
    ) -> None:
        assert isinstance(session, LocalSession)
        session.parked(command.opaque, parked)
        super()._park(session, command, header, parked)

    def send_answer(self, session: Session, command: RemotingCommand, outcome: Outcome) -> None:
        assert isinstance(session, LocalSession)
        outcome = self._in_its_words(outcome)
        code = None if outcome is None else outcome.code
        self._journal.note((HANDLED, self._name, command.code, session.remote_addr, code))
        session.answered(command.opaque, outcome)
