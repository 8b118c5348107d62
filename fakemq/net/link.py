"""Links carry bytes between two endpoints, over memory or TCP; endpoints understand the bytes.

The rules for both sides:

- A link has one endpoint from its opening to its end, and calls it on the cluster's thread only.
- ``data_received`` comes in the order in which the peer wrote, cut anywhere. ``connection_lost``
  comes at most once, after all of them, and is the last call.
- After `Link.close` the endpoint is not called again.
- Bytes belong to the receiver of the call: a link never changes bytes it has passed on, and an
  endpoint never changes bytes it has written.
- `Link.write` never calls the other end: its bytes arrive after the caller has returned.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol, TypeVar

CLOSED_BY_PEER = "closed by the peer"
"""Why a connection ended, where the link knows no other reason."""

UNREAD = "unread bytes"
"""Kind of warning about a peer that does not read."""

HELD = "bytes held for all peers"
"""Kind of warning about the peer that makes the cluster hold most, when all hold too much."""


class LinkState(Enum):
    """How far the end of a link has come; a link only moves down this list."""

    OPEN = 0
    DROPPING = 1
    """The connection is closed on the loop's next turn; writes are dropped."""
    GONE = 2
    """The system has lost the peer. The endpoint of a paused node does not know yet."""


class Link(Protocol):
    """One end of a connection, as its endpoint uses it."""

    outside: bool
    """Whether the peer lives outside the cluster: its liveness counts real time."""
    local_addr: str
    """``host:port`` of this end."""
    remote_addr: str
    """``host:port`` of the peer's end."""

    @property
    def write_blocked(self) -> bool:
        """Whether the peer does not read what was written. It is not read from until it does."""

    def write(self, data: bytes) -> None:
        """Send bytes after all that were written before; on a link that is gone, drop them."""

    def should_yield(self) -> bool:
        """Return whether to leave the rest of a batch until `Endpoint.resume_processing`.

        The link calls that on a later turn of the loop, after other connections had theirs.
        """

    def close(self) -> None:
        """Close from this end. What was written is still sent."""

    def pause_reading(self) -> None:
        """Keep arriving bytes, and the peer's close, in the link."""

    def resume_reading(self) -> None:
        """End the pause; before this returns, the endpoint gets all that arrived meanwhile."""


class Endpoint(Protocol):
    """The user of a link. `Session` speaks the remoting protocol; the ends of HA are others."""

    language: str
    """``remoting`` or ``ha``."""

    @property
    def node(self) -> str:
        """The name of the node that has this end of the link."""

    def data_received(self, data: bytes) -> None:
        """Take bytes of the peer."""

    def connection_lost(self, why: str = CLOSED_BY_PEER) -> None:
        """Take the loss of the link, which this endpoint has not closed."""

    def resume_processing(self) -> None:
        """Process what was left: the peer reads again, or it is this endpoint's turn."""

    @property
    def unfinished_bytes(self) -> int:
        """The size of what is held for the peer: incomplete frames, and requests not yet done."""

    def close_for_violation(self, why: str, kind: str) -> None:
        """Close the link because the peer violates a rule, and warn.

        ``kind`` is a short fixed text: the number of warnings of one kind is limited.
        """

    def pause(self) -> None:
        """The node is paused: leave everything in the link."""

    def resume(self) -> None:
        """The node runs again: take what arrived meanwhile."""


EndpointT = TypeVar("EndpointT", bound=Endpoint)
Accept = Callable[[Link], Endpoint]
"""Called by a listener with a new link; returns the endpoint at this end."""
