"""A session by hand, without a network."""

from __future__ import annotations

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.journal.journal import Journal
from fakemq.net.session import Session
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.connection import Connection
from tests.support.time import ManualTime


class RecordingLink:
    """Keeps what is written."""

    local_addr, remote_addr = "here:1", "there:2"

    def __init__(self, outside: bool) -> None:
        self.outside = outside
        self.written: list[bytes] = []
        self.closed = False
        self.write_blocked = False
        self.turns = 0
        """How many looks at the time there were."""
        self.turn_ends_at: int | None = None
        self.reading = True

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def should_yield(self) -> bool:
        self.turns += 1
        return self.turns == self.turn_ends_at

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class SessionLab:
    """The node whose session it is, and the far end of the link."""

    name = "lab"

    def __init__(self, *, outside: bool = False) -> None:
        self.time = ManualTime()
        self.real = Clock(frozen=True, source=self.time)
        self.clock = NodeClock(self.real, self.name)
        self.journal = Journal(self.real)
        self.gone: list[Session] = []
        self.requests: list[RemotingCommand] = []
        self.link = RecordingLink(outside)
        self.session = Session(self.link, self, self.take)
        self.far = Connection()

    def session_closed(self, session: Session) -> None:
        self.gone.append(session)

    def take(self, session: Session, command: RemotingCommand) -> None:
        self.requests.append(command)
        if not command.is_oneway:
            session.send(RemotingCommand(0, flag=FLAG_RESPONSE, opaque=command.opaque))

    def frame(self, code: int, opaque: int = 1) -> bytes:
        return self.far.encode(RemotingCommand(code, opaque=opaque))

    def answer(self, opaque: int) -> None:
        response = RemotingCommand(0, flag=FLAG_RESPONSE, opaque=opaque)
        self.session.data_received(self.far.encode(response))

    def sent(self) -> list[RemotingCommand]:
        data, self.link.written = b"".join(self.link.written), []
        return list(self.far.receive_data(data))
