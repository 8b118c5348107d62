"""A name server of the test's own: keeps what brokers say, answers what the test wants."""

from __future__ import annotations

from collections.abc import Callable

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.journal.journal import Journal
from fakemq.net.link import Link
from fakemq.net.memory import MemoryNetwork
from fakemq.net.session import Session
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand


class NameServerDouble:
    """Listens at ``addr``; ``answer`` makes the response to a request, None answers nothing."""

    def __init__(self, network: MemoryNetwork, clock: Clock, journal: Journal, addr: str) -> None:
        self.name = f"double {addr}"
        self.clock = NodeClock(clock, self.name)
        self.journal = journal
        self.requests: list[RemotingCommand] = []
        self.sessions: list[Session] = []
        self.lost: list[Session] = []
        self.answer: Callable[[RemotingCommand], RemotingCommand | None] = self.success
        network.listen(addr, self.accept)

    def accept(self, link: Link) -> Session:
        session = Session(link, self, self._take)
        self.sessions.append(session)
        return session

    def session_closed(self, session: Session) -> None:
        self.lost.append(session)

    def codes(self) -> list[int]:
        return [request.code for request in self.requests]

    @staticmethod
    def success(request: RemotingCommand) -> RemotingCommand:
        return RemotingCommand(0)

    def _take(self, session: Session, request: RemotingCommand) -> None:
        self.requests.append(request)
        response = None if request.is_oneway else self.answer(request)
        if response is not None:
            response.opaque = request.opaque
            response.flag |= FLAG_RESPONSE
            session.send(response)
