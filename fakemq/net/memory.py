"""Links inside a cluster: a queue carries the same bytes as a socket would.

Written bytes reach the other end when the network settles. There are two cases: 1. time is being
advanced: it settles after every timer; 2. otherwise: on the driver's next turn. No byte is
delivered during a write, so that no handler runs inside another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
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
    """The open links of a cluster, in memory and over TCP, oldest first."""

    def __init__(self) -> None:
        self._links: dict[OpenLink, None] = {}
        self._outside_left_ms: int | None = None
        """The machine's elapsed time when the last outside link was closed."""
        self.faults: LinkInterceptor | None = None
        """Applies faults to links; None until a test places the first such fault."""

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
        """Return whether an outside peer has a connection, or had one in the last `RECENT_MS`."""
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
        """Return False: the nodes of a cluster exchange few bytes, so none has to wait."""
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
        """The other end; None after either end was closed."""
        self.endpoint: Endpoint | None = None
        """The user of this end; None before the opening and after the close."""
        self.way: Way | None = None
        """Carries the written bytes while a fault affects the link; None without a fault."""
        self.way_in: Way | None = None
        """The way of the other direction: the peer's `way`."""
        self._kept: list[bytes | None] | None = None
        """The bytes that arrived during a pause, None for the peer's close; None if not paused."""
        self._kept_bytes = 0
        """The size of `_kept`."""

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
        """Separate the two ends, so that neither writes to the other; return the other end."""
        peer, self.peer = self.peer, None
        if peer is not None:
            peer.peer = None
            for link in (self, peer):
                self._network.links.discard(link)
        return peer

    def open(self, make: Callable[[Link], EndpointT], accept: Accept) -> EndpointT:
        """Make the endpoint of each end: by ``make`` here, by ``accept`` there; return this one."""
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
        if self.peer is far:  # no endpoint has closed the link at once
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
        """Close the link: a fault holds back too much of what this end wrote."""
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
        """Take bytes of the peer, or None for its close; ``why`` is the reason of the close."""
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
            return  # written before the other end noticed that its link was closed
        kept.append(data)
        self._kept_bytes += len(data or b"")
        far = None if self.peer is None else self.peer.endpoint
        if self._kept_bytes > UNREAD_MAX_BYTES and far is not None:
            far.close_for_violation(
                f"{self._kept_bytes} bytes unread; {UNREAD_MAX_BYTES} is the most", UNREAD
            )


_DELIVERIES_BETWEEN_LOOKS = 64


def _seldom(is_done: Callable[[], bool]) -> Callable[[], bool]:
    """Return a function that asks ``is_done`` at each 64th call: most settlings are shorter."""
    calls = count(1)
    return lambda: next(calls) % _DELIVERIES_BETWEEN_LOOKS == 0 and is_done()


class MemoryNetwork:
    """The addresses of a cluster's own nodes, and the bytes that are on the way between them."""

    def __init__(self, journal: Journal | None = None, *, links: OpenLinks | None = None) -> None:
        self._journal = journal
        """Has the present cause. Bytes carry their cause from node to node."""
        self.links = OpenLinks() if links is None else links
        self._listeners: dict[str, tuple[str, Accept, Callable[[], bool]]] = {}
        """Address → the node's name, what takes its links, and whether the node is up."""
        self._posted: deque[tuple[Cause, Callable[[], None]]] = deque()
        """Deliveries that `settle` will make, oldest first, each with its cause."""
        self._later: list[tuple[Cause, Callable[[], None]]] = []
        """Deliveries of the driver's next turn; `settle` makes them when no other is left."""
        self._next_port = 1
        self._settling = False
        self.on_post: Callable[[], None] = lambda: None
        """Called with the first delivery of an empty queue: the driver then schedules `settle`."""
        self.is_given_up: Callable[[], bool] = lambda: False
        """Called before some deliveries of `settle`; True leaves the rest for the driver's turns.

        Functions of users may send each other messages for ever.
        """

    def listen(
        self,
        addr: str,
        accept: Accept,
        node: str | None = None,
        is_up: Callable[[], bool] = lambda: True,
    ) -> None:
        """Pass every link to ``addr`` to ``accept``. ``node`` is the listener's name.

        Without ``node`` the address is the name. No link is opened while ``is_up`` returns False.
        """
        self._listeners[addr] = (node or addr, accept, is_up)

    def unlisten(self, addr: str) -> None:
        self._listeners.pop(addr, None)

    def knows(self, addr: str) -> bool:
        return addr in self._listeners

    def node_at(self, addr: str) -> str | None:
        """Return the name of the node that listens at ``addr``; None if no node does."""
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
        """Call ``delivery`` when the network settles, with the present cause."""
        journal = self._journal
        self._posted.append((0 if journal is None else journal.cause, delivery))
        if not self._settling and len(self._posted) == 1:
            self.on_post()

    def post_later(self, delivery: Callable[[], None]) -> None:
        """Call ``delivery`` on the driver's next turn: other connections have theirs before it.

        Without a driver, and where time is advanced, it is called when the network settles.
        """
        self._later.append((0 if self._journal is None else self._journal.cause, delivery))
        self.on_post()

    def settle(self) -> None:
        """Make all deliveries, also those that a delivery posts."""
        if (self._posted or self._later) and not self._settling:
            self.deliver_until(_seldom(self.is_given_up))

    def settle_for(self, time_ms: int) -> bool:
        """Make deliveries for about this real time; return whether none is left for now."""
        if self._later:
            self._take_later()
        if self._posted and not self._settling:
            until_ms = real_elapsed_ms() + time_ms
            self._deliver(_seldom(lambda: real_elapsed_ms() >= until_ms))
        return not self._posted

    def _take_later(self) -> None:
        """Let deliveries of the next turn be made now."""
        later, self._later = self._later, []
        self._posted.extend(later)

    def deliver_until(self, is_done: Callable[[], bool]) -> None:
        """Make deliveries until ``is_done`` returns True or none is left.

        Unlike `settle` it also works within a delivery. So only a delivery that handles nothing
        itself, and waits for the result of others, may call it.
        """
        while True:
            self._deliver(is_done)
            if self._posted or not self._later:
                return
            self._take_later()

    def _deliver(self, is_done: Callable[[], bool]) -> None:
        """As `deliver_until`, without those of the next turn."""
        journal, was_settling, self._settling = self._journal, self._settling, True
        before: Cause = 0 if journal is None else journal.cause
        try:
            while self._posted and not is_done():
                cause, deliver = self._posted.popleft()
                if journal is not None:
                    journal.cause = cause
                deliver()
        finally:
            self._settling = was_settling
            if journal is not None:
                journal.cause = before
            if self._posted and not was_settling:  # an error or the end left deliveries over
                self.on_post()
