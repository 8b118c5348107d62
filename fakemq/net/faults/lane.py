"""One direction of a link that faults affect: bytes go in, and come out when the faults allow it.

A `Lane` knows no socket and no loop: it has a clock's timers and a callable that takes the bytes.
Order is kept. Bytes come out once, whole or in pieces, and never before their time. Links have
lanes only while a fault affects them; see `fakemq.net.faults.links`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from fakemq.clock.clock import Clock
    from fakemq.clock.timers import Timer
    from fakemq.journal.journal import Cause
    from fakemq.net.link import Endpoint
    from fakemq.net.session import Owner

FULL_BYTES = 256 * 1024
"""As much as the sockets of a connection keep; with more the sender has to wait."""
_PIECES_A_SECOND = 20
_PIECES_MAX = 1000
"""Into how many pieces a line of low bandwidth cuts what is written at once."""

Act = Callable[[], None]


class Conditions(msgspec.Struct, frozen=True, gc=False):
    """What a lane is like; as it stands here, it does nothing.

    Bytes come out ``latency_ms`` after they left the line, give or take ``jitter_ms``, which take
    their time on a line of ``bytes_per_s``; in slices of ``slice_bytes``; not at all while
    it is ``blocked``.
    """

    latency_ms: int = 0
    jitter_ms: int = 0
    bytes_per_s: int | None = None
    slice_bytes: int | None = None
    blocked: bool = False


CLEAR = Conditions()


class _Item:
    """Bytes on their way, or what is to be done when those before them have arrived."""

    __slots__ = ("act", "at", "cause", "data", "due_ms", "put_ms")

    def __init__(self, data: bytes, act: Act | None, put_ms: int, cause: Cause) -> None:
        self.data = data
        self.act = act
        self.put_ms = put_ms
        self.cause = cause
        self.due_ms = 0
        self.at = 0  # number of its bytes that have come out


class Lane:
    """Bytes on their way in one direction, by ``clock``; ``owner`` is whose its timers are.

    ``deliver`` gets what comes out, and the ``cause`` that was put in with it. Nothing comes out
    while not ``ready``; call `deliver_due` when that ends. ``moved`` is called when something has
    come out. ``spread`` returns a number between minus and plus its argument, for jitter.
    """

    def __init__(
        self,
        clock: Clock,
        owner: str,
        deliver: Callable[[bytes, Cause], None],
        *,
        ready: Callable[[], bool] = lambda: True,
        moved: Act = lambda: None,
        spread: Callable[[int], int] = lambda ms: 0,
    ) -> None:
        self._clock = clock
        self._owner = owner
        self._deliver = deliver
        self._ready = ready
        self._moved = moved
        self._spread = spread
        self._items: deque[_Item] = deque()
        self._timer: Timer | None = None
        self._moving = False
        self._line_free_us = 0
        self._last_due_ms = 0
        self.conditions = CLEAR
        self.held_bytes = 0
        """How much is on its way."""

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way."""
        return not self._items and not self._moving

    @property
    def full(self) -> bool:
        """Whether more is on its way than its sender should add to."""
        return self.held_bytes > FULL_BYTES

    def put(self, data: bytes, cause: Cause = 0, then: Act | None = None) -> None:
        """Have bytes go this way, and call ``then`` once they have come out."""
        self.held_bytes += len(data)
        for piece in self._pieces(data) if data else ():
            self._add(_Item(piece, None, self._now_ms(), cause))
        if then is not None:
            self._add(_Item(b"", then, self._now_ms(), 0))
        self.deliver_due()

    def after(self, act: Act) -> None:
        """Call ``act`` once all that was put in before has come out."""
        self.put(b"", then=act)

    def set(self, conditions: Conditions) -> None:
        """Be like this from now on, for what is on its way, too."""
        if conditions == self.conditions:
            return
        self.conditions = conditions
        self._line_free_us, self._last_due_ms = self._now_ms() * 1000, 0
        for item in self._items:
            self._schedule(item)
        self.deliver_due()

    def drop(self) -> None:
        """Lose what is on its way."""
        self._items.clear()
        self.held_bytes = 0
        self._wake_at(None)

    def deliver_due(self) -> None:
        """Deliver what is due, as far as the receiver takes it."""
        if self._moving:
            return
        self._moving, due_ms = True, None
        try:
            while self._items and not self.conditions.blocked and self._ready():
                item = self._items[0]
                if item.due_ms > self._now_ms():
                    due_ms = item.due_ms
                    break
                self._deliver_item(item)
        finally:
            self._moving = False
            self._wake_at(due_ms)
            self._moved()

    def _deliver_item(self, item: _Item) -> None:
        """Deliver an item, or its next slice."""
        if item.act is not None:
            self._items.popleft()
            item.act()
            return
        data, size = item.data, self.conditions.slice_bytes
        end = len(data) if size is None else min(item.at + size, len(data))
        piece = data if end - item.at == len(data) else data[item.at : end]
        item.at = end
        if end == len(data):
            self._items.popleft()
        self.held_bytes -= len(piece)
        self._deliver(piece, item.cause)

    def _pieces(self, data: bytes) -> list[bytes]:
        """What is written at once, as a narrow line brings it: bit by bit."""
        bytes_per_s = self.conditions.bytes_per_s
        if bytes_per_s is None:
            return [data]
        size = max(1, bytes_per_s // _PIECES_A_SECOND, len(data) // _PIECES_MAX)
        return [data[at : at + size] for at in range(0, len(data), size)]

    def _add(self, item: _Item) -> None:
        self._schedule(item)
        self._items.append(item)

    def _schedule(self, item: _Item) -> None:
        """Say when it is due: not before what went before it."""
        now, us = self.conditions, item.put_ms * 1000
        if now.bytes_per_s is not None:
            us = max(us, self._line_free_us)
            us += -((item.at - len(item.data)) * 1_000_000 // now.bytes_per_s)
            self._line_free_us = us
        late_ms = now.latency_ms
        if now.jitter_ms:
            late_ms = max(0, late_ms + self._spread(now.jitter_ms))
        item.due_ms = self._last_due_ms = max(self._last_due_ms, -(-us // 1000) + late_ms)

    def _now_ms(self) -> int:
        return self._clock.elapsed_ms()

    def _wake_at(self, due_ms: int | None) -> None:
        timer = self._timer
        if timer is not None and timer.pending and timer.due_ms == due_ms:
            return
        if timer is not None:
            timer.cancel()
        self._timer = None
        if due_ms is not None:
            self._timer = self._clock.call_later(
                due_ms - self._now_ms(), self.deliver_due, kind="link_delivery", owner=self._owner
            )

    def __repr__(self) -> str:
        return f"<lane of {self._owner}, {self.held_bytes} bytes on their way>"


class Way(Protocol):
    """A lane, as the link has it whose bytes go that way."""

    @property
    def held_bytes(self) -> int:
        """How much is on its way."""

    @property
    def full(self) -> bool:
        """Whether that is more than its sender should add to."""

    def put(self, data: bytes, /) -> None:
        """Have bytes go this way."""

    def after(self, act: Act, /) -> None:
        """Call ``act`` once all that was put in before has come out."""

    def deliver_due(self) -> None:
        """The receiver takes bytes again."""

    def drop(self) -> None:
        """Lose what is on its way: the receiver is gone."""


class MakeWay(Protocol):
    """Makes a way for what the link's own end writes (``outward``), or for what comes to it.

    ``take`` gets what comes out, and ``soon`` calls what must not run within what happens now;
    ``ready`` and ``moved`` are the lane's.
    """

    def __call__(
        self,
        take: Callable[[bytes], None],
        *,
        outward: bool,
        soon: Callable[[Act], None],
        ready: Callable[[], bool] = ...,
        moved: Act = ...,
    ) -> Way: ...


class OpenLink(Protocol):
    """A link as faults see it."""

    outside: bool
    local_addr: str
    remote_addr: str

    @property
    def node(self) -> str:
        """The node of the cluster that has this end."""

    @property
    def remote_node(self) -> str | None:
        """The one that has the other; None if that is outside."""

    @property
    def session(self) -> Endpoint | None:
        """The endpoint at this end, while it is open."""

    def wire(self, make: MakeWay) -> None:
        """Have the bytes of both directions go by ways from now on."""

    def unwire(self) -> None:
        """Have them go directly again; the ways are empty."""

    def cut(self, why: str, caused_by: Callable[[Act], None]) -> None:
        """End the connection at both ends, soon; ``caused_by`` calls what notifies them."""

    def reset(self, why: str, caused_by: Callable[[Act], None]) -> None:
        """As `cut`, by RST where there is one."""


class LinkInterceptor(Protocol):
    """What applies faults to links, in a cluster that has such faults."""

    def opened(self, link: OpenLink) -> None:
        """A link was opened."""

    def end(self) -> None:
        """Let everything through from now on."""

    def swallows(self, source: Owner, addr: str, again: Act, fail: Act) -> bool:
        """Whether a node's connect gets no answer; if so it is tried ``again``, or is to fail."""
