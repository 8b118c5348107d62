"""Links inside a cluster: the same bytes as on a socket, carried by a queue.

Bytes written at one end reach the other when the network settles: after every timer while time is
advanced, and by the driver's next turn otherwise. No byte is ever delivered from within a write,
so a handler never runs inside another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.net.link import CLOSED_BY_PEER, UNREAD, Accept, Endpoint, EndpointT, Link
from fakemq.protocol.limits import UNREAD_MAX_BYTES

if TYPE_CHECKING:
    from fakemq.journal.journal import Cause, Journal
    from fakemq.net.faults.lane import Act, LinkInterceptor, MakeWay, OpenLink, Way


RECENT_MS = 3_000
"""How long a peer that lost its connection is expected to open another, in real time."""


class OpenLinks:
    """The links of a cluster, of memory or TCP, in the order in which they were opened."""

    def __init__(self) -> None:
        self._links: dict[OpenLink, None] = {}
        self._outside_left_ms: int | None = None
        self.faults: LinkInterceptor | None = None
        """None until a test places a fault of links."""

    def add(self, link: OpenLink) -> None:
        self._links[link] = None
        if self.faults is not None:
            self.faults.opened(link)

    def discard(self, link: OpenLink) -> None:
        if link in self._links:
            del self._links[link]
            if link.outside:
                self._outside_left_ms = real_elapsed_ms()

    def reach_outside(self) -> bool:
        """Whether a peer outside has a connection, or had one a moment ago, in real time."""
        if any(link.outside for link in self):
            return True
        left_ms = self._outside_left_ms
        return left_ms is not None and real_elapsed_ms() - left_ms < RECENT_MS

    def __contains__(self, link: OpenLink) -> bool:
        return link in self._links

    def __iter__(self) -> Iterator[OpenLink]:
        return iter(list(self._links))


class MemoryLink:
    """One end of a memory connection; ``local_node`` and ``remote_node`` are the nodes' names."""

    write_blocked = False

    def should_yield(self) -> bool:
        """Return False: nodes of a cluster send each other little."""
        return False

    def __init__(
        self,
        network: MemoryNetwork,
        local_addr: str,
        remote_addr: str,
        local_node: str,
        remote_node: str,
        *,
        outside: bool = False,
    ) -> None:
        self._network = network
        self.local_addr = local_addr
        self.remote_addr = remote_addr
        self.local_node = local_node
        self.remote_node = remote_node
        self.outside = outside
        self.peer: MemoryLink | None = None
        self.endpoint: Endpoint | None = None
        self.way: Way | None = None
        """Where what is written goes, while a fault affects the link."""
        self.way_in: Way | None = None
        """Where what arrives comes from meanwhile."""
        self._kept: list[bytes | None] | None = None  # what arrived while paused
        self._kept_bytes = 0

    def write(self, data: bytes) -> None:
        peer, way = self.peer, self.way
        if peer is None:
            return
        if way is None:
            self._network.post(lambda: peer._arrive(data))
        else:
            way.put(data)
            if way.held_bytes > UNREAD_MAX_BYTES:
                self._network.post(partial(self._give_up, way.held_bytes))

    def close(self) -> None:
        peer = self._part()
        if peer is not None:
            end = partial(self._network.post, lambda: peer._arrive(None))
            if self.way is None:
                end()
            else:
                self.way.after(end)
        self.endpoint = None
        if self.way_in is not None:
            self.way_in.drop()

    def _part(self) -> MemoryLink | None:
        """Part the two ends, so that neither writes to the other; return the other."""
        peer, self.peer = self.peer, None
        if peer is not None:
            peer.peer = None
            for link in (self, peer):
                self._network.links.discard(link)
        return peer

    def open(self, make: Callable[[Link], EndpointT], accept: Accept) -> EndpointT:
        """Make both ends' endpoints: ``make`` this one, which is returned, ``accept`` the other."""
        far = self.peer = MemoryLink(
            self._network,
            self.remote_addr,
            self.local_addr,
            self.remote_node,
            self.local_node,
            outside=self.outside,
        )
        far.peer = self
        endpoint = self.endpoint = make(self)
        far.endpoint = accept(far)
        if self.peer is far:  # unless an endpoint closed it at once
            self._network.links.add(self)
        return endpoint

    # -- faults -------------------------------------------------------------------------------

    @property
    def node(self) -> str:
        return self.local_node

    @property
    def session(self) -> Endpoint | None:
        return self.endpoint

    def wire(self, make: MakeWay) -> None:
        far, soon = self.peer, self._network.post
        if far is not None:
            self.way = far.way_in = make(far._arrive, outward=True, soon=soon)
            self.way_in = far.way = make(self._arrive, outward=False, soon=soon)

    def unwire(self) -> None:
        self.way = self.way_in = None
        if self.peer is not None:
            self.peer.way = self.peer.way_in = None

    def cut(self, why: str, caused_by: Callable[[Act], None]) -> None:
        peer = self._part()
        for link in (self, peer):
            if link is not None:
                self._network.post(partial(caused_by, partial(link._arrive, None, why)))

    reset = cut

    def _give_up(self, held_bytes: int) -> None:
        """Close the link: what this end writes does not arrive, and it is too much."""
        if self.endpoint is not None:
            why = f"{held_bytes} bytes unread; {UNREAD_MAX_BYTES} is the most"
            self.endpoint.close_for_violation(why, UNREAD)

    # -- bytes in -----------------------------------------------------------------------------

    def pause_reading(self) -> None:
        if self._kept is None:
            self._kept = []

    def resume_reading(self) -> None:
        kept, self._kept, self._kept_bytes = self._kept or [], None, 0
        for data in kept:
            self._arrive(data)

    def _arrive(self, data: bytes | None, why: str = CLOSED_BY_PEER) -> None:
        """Bytes of the peer, or None for their end and why it came."""
        endpoint = self.endpoint
        if endpoint is None:
            return  # closed from this end
        if self._kept is not None:
            self._keep(self._kept, data)
        elif data is not None:
            endpoint.data_received(data)
        else:
            self.endpoint = None
            endpoint.connection_lost(why)

    def _keep(self, kept: list[bytes | None], data: bytes | None) -> None:
        if self._kept_bytes > UNREAD_MAX_BYTES and data is not None:
            return  # on its way when the other end gave up
        kept.append(data)
        self._kept_bytes += len(data or b"")
        far = None if self.peer is None else self.peer.endpoint
        if self._kept_bytes > UNREAD_MAX_BYTES and far is not None:
            far.close_for_violation(
                f"{self._kept_bytes} bytes unread; {UNREAD_MAX_BYTES} is the most", UNREAD
            )


class MemoryNetwork:
    """The addresses of a cluster's own nodes, and the bytes on their way between them."""

    def __init__(self, journal: Journal | None = None, *, links: OpenLinks | None = None) -> None:
        self._journal = journal
        """Knows what happens because of what: bytes carry it from node to node."""
        self.links = OpenLinks() if links is None else links
        self._listeners: dict[str, tuple[str, Accept, Callable[[], bool]]] = {}
        self._posted: deque[tuple[Cause, Callable[[], None]]] = deque()
        self._next_port = 1
        self._settling = False
        self.on_post: Callable[[], None] = lambda: None
        """Called when there is something to settle; the driver schedules `settle`."""

    def listen(
        self,
        addr: str,
        accept: Accept,
        node: str | None = None,
        is_up: Callable[[], bool] = lambda: True,
    ) -> None:
        """Have ``accept`` take the links to ``addr``, where ``node`` (the address) lives.

        While ``is_up`` returns False no link is opened.
        """
        self._listeners[addr] = (node or addr, accept, is_up)

    def unlisten(self, addr: str) -> None:
        self._listeners.pop(addr, None)

    def knows(self, addr: str) -> bool:
        return addr in self._listeners

    def node_at(self, addr: str) -> str | None:
        """The node that an address is one of; None if it is none of the cluster's."""
        listener = self._listeners.get(addr)
        return None if listener is None else listener[0]

    def connect(self, addr: str, node: str, make: Callable[[Link], EndpointT]) -> EndpointT | None:
        """Connect ``node`` to ``addr``; return what ``make`` returns, None if no node listens."""
        listener = self._listeners.get(addr)
        if listener is None or not listener[2]():
            return None
        remote_node, accept, _ = listener
        here = f"memory:{self._next_port}"
        self._next_port += 1
        return MemoryLink(self, here, addr, node, remote_node).open(make, accept)

    def post(self, delivery: Callable[[], None]) -> None:
        journal = self._journal
        self._posted.append((0 if journal is None else journal.cause, delivery))
        if not self._settling and len(self._posted) == 1:
            self.on_post()

    def settle(self) -> None:
        """Deliver until nothing is on its way."""
        if self._settling:
            return
        self._settling, journal = True, self._journal
        before: Cause = 0 if journal is None else journal.cause
        try:
            while self._posted:
                cause, deliver = self._posted.popleft()
                if journal is not None:
                    journal.cause = cause
                deliver()
        finally:
            self._settling = False
            if journal is not None:
                journal.cause = before
            if self._posted:  # an error came between: the rest is for the next turn
                self.on_post()
