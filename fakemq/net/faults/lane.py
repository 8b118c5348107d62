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
"""About what the two sockets of a connection keep; with more the sender has to wait."""
_PIECES_A_SECOND = 20
"""How many pieces a line of low bandwidth delivers in a second: it cuts each write."""
_PIECES_MAX = 1000
"""Into how many pieces one write is cut, at most."""

Act = Callable[[], None]


class LaneConditions(msgspec.Struct, frozen=True, gc=False):
    """How a lane treats bytes; with the defaults it delivers them at once."""

    latency_ms: int = 0
    """How long bytes take after they left the line."""
    jitter_ms: int = 0
    """By how much the latency varies, up and down."""
    bytes_per_s: int | None = None
    """The bandwidth of the line; None for no limit."""
    slice_bytes: int | None = None
    """The most bytes that the receiver gets in one piece; None for no limit."""
    blocked: bool = False
    """Whether nothing comes out."""


CLEAR = LaneConditions()


class _Item:
    """Bytes on the way, or an action for the time when all bytes before it have arrived."""

    __slots__ = ("act", "at", "cause", "data", "due_ms", "put_ms")

    def __init__(self, data: bytes, act: Act | None, put_ms: int, cause: Cause) -> None:
        self.data = data
        self.act = act
        self.put_ms = put_ms
        self.cause = cause
        self.due_ms = 0
        self.at = 0  # how many of its bytes have come out


class Lane:
    """The bytes on the way in one direction.

    - ``clock`` has the lane's timers; ``owner`` is the name under which they are listed.
    - ``deliver`` is called with the bytes that come out, and with the cause they were put in with.
    - ``ready`` returns whether the receiver takes bytes. Call `deliver_due` when it does again.
    - ``moved`` is called when bytes have come out.
    - ``spread`` returns a random number between minus and plus its argument, for jitter.
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
        """Oldest first."""
        self._timer: Timer | None = None
        """Due when the oldest item is due."""
        self._moving = False
        """Whether `deliver_due` is running: a receiver may call it again from inside."""
        self._line_free_us = 0
        """When a line of low bandwidth has sent all before, in microseconds of elapsed time."""
        self._last_due_ms = 0
        """When the newest item is due: later ones are not due before it."""
        self.conditions = CLEAR
        self.held_bytes = 0
        """The number of bytes on the way."""

    @property
    def idle(self) -> bool:
        """Whether no byte and no action is on the way."""
        return not self._items and not self._moving

    @property
    def full(self) -> bool:
        """Whether so much is on the way that the sender should wait."""
        return self.held_bytes > FULL_BYTES

    def put(self, data: bytes, cause: Cause = 0, then: Act | None = None) -> None:
        """Send bytes through the lane, and call ``then`` when they have come out."""
        self.held_bytes += len(data)
        for piece in self._pieces(data) if data else ():
            self._add(_Item(piece, None, self._now_ms(), cause))
        if then is not None:
            self._add(_Item(b"", then, self._now_ms(), 0))
        self.deliver_due()

    def after(self, act: Act) -> None:
        """Call ``act`` once all that was put in before has come out."""
        self.put(b"", then=act)

    def set(self, conditions: LaneConditions) -> None:
        """Change the conditions, also for the bytes that are on the way."""
        if conditions == self.conditions:
            return
        self.conditions = conditions
        self._line_free_us, self._last_due_ms = self._now_ms() * 1000, 0
        for item in self._items:
            self._schedule(item)
        self.deliver_due()

    def drop(self) -> None:
        """Lose everything that is on the way."""
        self._items.clear()
        self.held_bytes = 0
        self._wake_at(None)

    def deliver_due(self) -> None:
        """Deliver the bytes that are due, as long as the receiver takes them."""
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
        """Return one write as the pieces in which a line of low bandwidth delivers it."""
        bytes_per_s = self.conditions.bytes_per_s
        if bytes_per_s is None:
            return [data]
        size = max(1, bytes_per_s // _PIECES_A_SECOND, len(data) // _PIECES_MAX)
        return [data[at : at + size] for at in range(0, len(data), size)]

    def _add(self, item: _Item) -> None:
        self._schedule(item)
        self._items.append(item)

    def _schedule(self, item: _Item) -> None:
        """Set when an item is due: not before the items in front of it."""
        now, us = self.conditions, item.put_ms * 1000
        if now.bytes_per_s is not None:
            us = max(us, self._line_free_us)
            # A minus before and behind the floor division rounds up.
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
        return f"<lane of {self._owner}, {self.held_bytes} bytes on the way>"


class Way(Protocol):
    """A lane, as the link uses it."""

    @property
    def held_bytes(self) -> int:
        """The number of bytes on the way."""

    @property
    def full(self) -> bool:
        """Whether so much is on the way that the sender should wait."""

    def put(self, data: bytes, /) -> None:
        """Send bytes this way."""

    def after(self, act: Act, /) -> None:
        """Call ``act`` once all that was put in before has come out."""

    def deliver_due(self) -> None:
        """Deliver the bytes that are due: the receiver takes bytes again."""

    def drop(self) -> None:
        """Lose everything that is on the way: the receiver is gone."""


class MakeWay(Protocol):
    """Makes the way of the bytes that this end writes (``outward``), or of those that arrive here.

    ``take`` is called with the bytes that come out, by ``soon``: on a later turn if the link needs
    that. ``ready`` and ``moved`` are those of `Lane`.
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
        """The name of the node that has this end."""

    @property
    def remote_node(self) -> str | None:
        """The name of the node that has the other end; None if that is outside."""

    @property
    def session(self) -> Endpoint | None:
        """The endpoint at this end, while it is open."""

    def wire(self, make: MakeWay) -> None:
        """Send the bytes of both directions by ways from now on."""

    def unwire(self) -> None:
        """Send them directly again. The caller makes sure that both ways are empty."""

    def cut(self, why: str, caused_by: Callable[[Act], None]) -> None:
        """Close the connection at both ends, on a later turn.

        ``caused_by`` calls what notifies the endpoints, with the right cause.
        """

    def reset(self, why: str, caused_by: Callable[[Act], None]) -> None:
        """Do as `cut`, but close a TCP connection by RST."""


class LinkInterceptor(Protocol):
    """Applies faults to the links of a cluster."""

    def opened(self, link: OpenLink) -> None:
        """Take a new link; apply the faults that cover it."""

    def end(self) -> None:
        """Let all bytes and connects through from now on."""

    def swallows(self, source: Owner, addr: str, again: Act, fail: Act) -> bool:
        """Return whether a partition leaves a node's connect without an answer.

        If so, ``again`` is called when the partition ends, or ``fail`` after the time-out.
        """
