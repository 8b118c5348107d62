"""Links inside a cluster: the same bytes as on a socket, carried by a queue.

Bytes written at one end reach the other when the network settles: after every timer while time is
advanced, and by the driver's next turn otherwise. No byte is ever delivered from within a write,
so a handler never runs inside another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from fakemq.net.session import Dispatch, Link, Owner, Session

Accept = Callable[[Link], Session]
"""What a listener does with a new link: gives the session at its end."""


class MemoryLink:
    """One end of a memory connection."""

    outside = False

    def __init__(self, network: MemoryNetwork, local_addr: str, remote_addr: str) -> None:
        self._network = network
        self.local_addr = local_addr
        self.remote_addr = remote_addr
        self.peer: MemoryLink | None = None
        self.session: Session | None = None
        self._kept: list[bytes | None] | None = None  # what arrived while paused

    def write(self, data: bytes) -> None:
        peer = self.peer
        if peer is not None:
            self._network.post(lambda: peer._arrive(data))

    def close(self) -> None:
        peer, self.peer = self.peer, None
        if peer is not None:
            peer.peer = None
            self._network.post(lambda: peer._arrive(None))
        self.session = None

    def pause_reading(self) -> None:
        if self._kept is None:
            self._kept = []

    def resume_reading(self) -> None:
        kept, self._kept = self._kept or [], None
        for data in kept:
            self._arrive(data)

    def _arrive(self, data: bytes | None) -> None:
        """Bytes of the peer, or None for their end."""
        session = self.session
        if self._kept is not None:
            self._kept.append(data)
        elif session is None:
            pass  # closed from this end
        elif data is not None:
            session.data_received(data)
        else:
            self.session = None
            session.connection_lost()


class MemoryNetwork:
    """The addresses of a cluster's own nodes, and the bytes on their way between them."""

    def __init__(self) -> None:
        self._listeners: dict[str, Accept] = {}
        self._posted: deque[Callable[[], None]] = deque()
        self._next_port = 1
        self._settling = False
        self.on_post: Callable[[], None] = lambda: None
        """Told when there is something to settle; the driver schedules `settle`."""

    def listen(self, addr: str, accept: Accept) -> None:
        self._listeners[addr] = accept

    def unlisten(self, addr: str) -> None:
        self._listeners.pop(addr, None)

    def knows(self, addr: str) -> bool:
        return addr in self._listeners

    def connect(self, addr: str, owner: Owner, dispatch: Dispatch | None) -> Session | None:
        """A session to the node listening at ``addr``; None if none does."""
        accept = self._listeners.get(addr)
        if accept is None:
            return None
        here = f"memory:{self._next_port}"
        self._next_port += 1
        near, far = MemoryLink(self, here, addr), MemoryLink(self, addr, here)
        near.peer, far.peer = far, near
        session = near.session = Session(near, owner, dispatch)
        far.session = accept(far)
        return session

    def post(self, delivery: Callable[[], None]) -> None:
        self._posted.append(delivery)
        if not self._settling and len(self._posted) == 1:
            self.on_post()

    def settle(self) -> None:
        """Deliver until nothing is on its way."""
        if self._settling:
            return
        self._settling = True
        try:
            while self._posted:
                self._posted.popleft()()
        finally:
            self._settling = False
            if self._posted:  # an error came between: the rest is for the next turn
                self.on_post()
