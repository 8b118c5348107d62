"""A node of a test's own behind a real listener."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.journal.journal import Journal
from fakemq.net.held import HeldBytes
from fakemq.net.link import Link
from fakemq.net.session import Dispatch, Session
from fakemq.net.tcp import Door
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.limits import FRAME_MAX_BYTES, HELD_MAX_BYTES
from fakemq.serving.listener import Listener, Port

TOO_MUCH = 12
"""The code of a request whose answer fits no frame."""


class ListenerLab:
    """A node behind a listener."""

    name = "lab"
    held: HeldBytes

    def __init__(self) -> None:
        clock = Clock()
        self.clock = NodeClock(clock, self.name)
        self.journal = Journal(clock)
        self.sessions: list[Session] = []
        self.gone = asyncio.Event()
        self.paused = False
        self.taken = 0
        self.refused: list[str] = []
        self.dispatch: Dispatch = self.take

    def accept(self, link: Link) -> Session:
        self.sessions.append(Session(link, self, self.dispatch))
        if self.paused:
            self.sessions[-1].pause()
        return self.sessions[-1]

    def take(self, session: Session, command: RemotingCommand) -> None:
        self.taken += 1
        if len(command.body) == 50_000:
            return
        body = bytes(FRAME_MAX_BYTES) if command.code == TOO_MUCH else command.body
        response = RemotingCommand(0, flag=FLAG_RESPONSE, opaque=command.opaque, body=body)
        session.send(response, answers=command.code)

    def session_closed(self, session: Session) -> None:
        self.gone.set()

    async def link_is_freed(self) -> None:
        """Wait until nothing refers to the link of the last session any more.

        Disable the garbage collector before that session begins.
        """
        freed = weakref.ref(self.sessions.pop().link)
        await until(lambda: freed() is None)


def listening(
    port: Port,
    use: Callable[[ListenerLab, Listener], Awaitable[None]],
    *,
    held_max_bytes: int = HELD_MAX_BYTES,
    door: Door | None = None,
) -> None:
    """Run ``use`` on a loop on which a node listens at ``port``."""

    async def main() -> None:
        lab = ListenerLab()
        lab.held = HeldBytes(held_max_bytes)
        listener = Listener(port, lab.accept, lab.held, lab.refused.append, door=door)
        listener.open()
        try:
            await use(lab, listener)
        finally:
            listener.close()
            await listener.settled()
            for session in lab.sessions:
                session.close("end of the test")
            lab.held.drop_all()
            for _ in range(2):
                await asyncio.sleep(0)

    asyncio.run(main())


async def until(true: Callable[[], bool]) -> None:
    """Let the loop turn until it is true."""
    async with asyncio.timeout(5):
        while not true():
            await asyncio.sleep(0)
