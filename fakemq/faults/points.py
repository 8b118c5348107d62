"""Every fault point: a kind of place in the cluster where a fault can have an effect.

A point names the type of its faults' actions by a Protocol or a plain value, so that code of every
layer can ask for its faults. Some points lie in code that knows nothing of effects: such an
`InterceptPoint` carries ``intercept``, which the module with the effects sets when it is imported.
A fault cannot be placed there without an action from that module, so it is imported by then::

    if self._before_store:  # a list, empty as a rule
        return BEFORE_STORE.intercept(self, session, command)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from fakemq.faults.plan import Point

ActionT = TypeVar("ActionT")
InterceptT = TypeVar("InterceptT")


class InterceptPoint(Point[ActionT], Generic[ActionT, InterceptT]):
    """A point whose effects are in a module of their own."""

    intercept: InterceptT
    """The function that code at this point calls if a fault is placed here."""


# -- requests -----------------------------------------------------------------------------------


class RequestAction(Protocol):
    """The effect of a fault on a request or on its answer."""

    @property
    def withholds(self) -> bool:
        """Whether the answer is not sent unchanged at once."""

    def apply(self, intercepted: Any, /) -> None:
        """Affect an intercepted request or answer."""


InterceptRequest = Callable[[Any, Any, Any], bool]
"""With dispatcher, session and command: return whether a fault took the request."""
InterceptAnswer = Callable[[Any, Any, Any, Any, Any], None]
"""With dispatcher, session, command, header and outcome: answer, or apply a fault instead."""

BEFORE_STORE: InterceptPoint[RequestAction, InterceptRequest] = InterceptPoint("before_store")
"""A request has arrived; nothing was done with it."""
BEFORE_REPLY: InterceptPoint[RequestAction, InterceptAnswer] = InterceptPoint("before_reply")
"""A request was handled and has its effects; its answer was not sent."""
BEFORE_REPLICATE: Point[RequestAction] = Point("before_replicate")
"""The answer was sent; an ASYNC_MASTER has not sent its slaves the message yet."""
REQUEST_POINTS = (BEFORE_STORE, BEFORE_REPLY, BEFORE_REPLICATE)

# -- RPCs of the gRPC front ---------------------------------------------------------------------


class RpcAction(Protocol):
    """The effect of a fault on an RPC, before it is handled or on its answer."""

    def apply(self, intercepted: Any, /) -> None:
        """Affect an intercepted RPC or answer."""


InterceptRpc = Callable[[Any, Any, Any, Callable[[], None]], bool]
"""With front, context, message and a callable that handles it: return whether a fault took it."""
InterceptRpcAnswer = Callable[[Any, Any, Any], None]
"""With front, context and message: let faults act on what answers it."""

BEFORE_RPC: InterceptPoint[RpcAction, InterceptRpc] = InterceptPoint("before_rpc")
"""A message of an RPC has arrived; nothing was done with it."""
BEFORE_RPC_REPLY: InterceptPoint[RpcAction, InterceptRpcAnswer] = InterceptPoint("before_rpc_reply")
"""An RPC was handled and has its effects; its answer was not sent."""
RPC_POINTS = (BEFORE_RPC, BEFORE_RPC_REPLY)

# -- brokers and their clients ------------------------------------------------------------------


class CallAction(Protocol):
    """The effect of a fault on a request that a broker sends to a client."""

    def apply(self, call: Any, /) -> None:
        """Affect the call."""


class ListAction(Protocol):
    """The effect of a fault on the list of a group's members."""

    def of(self, client_ids: list[str]) -> list[str]:
        """Return the list that the client gets instead of ``client_ids``."""


InterceptCall = Callable[[Any, Any, Any, Callable[[], None], Callable[[], None]], bool]
"""With the caller, session, command and callables to send and to lose it: return whether a fault
took the call."""
InterceptList = Callable[[Any, str, Any, list[str]], list[str]]
"""With broker, group, session and client ids: return the list that the client gets."""

TO_CLIENT: InterceptPoint[CallAction, InterceptCall] = InterceptPoint("to_client")
"""A broker is about to send a client a request."""
CONSUMER_LIST: InterceptPoint[ListAction, InterceptList] = InterceptPoint("consumer_list")
"""A broker is about to return the members of a group."""
SILENCE: Point[None] = Point("silence")
"""A broker is about to register with a name server."""
EXPIRE_NOW: Point[None] = Point("at_once")
"""Not a place: a lease ends when the fault is placed."""

# -- name servers -------------------------------------------------------------------------------


class View(Protocol):
    """The effect of a fault on the tables that a name server returns."""

    def show(self, tables: Any, /) -> Any:
        """Return the tables to show; ``tables`` is a copy that may be changed."""


VIEW: InterceptPoint[View, Callable[[Any], Any]] = InterceptPoint("view")
"""A name server is about to return what it knows; with the name server: return its routes."""

# -- links --------------------------------------------------------------------------------------


class Latency(msgspec.Struct, frozen=True):
    """A delay of ``latency_ms``, plus or minus up to ``jitter_ms``."""

    latency_ms: int
    jitter_ms: int


PARTITION: Point[None] = Point("partition")
"""Bytes and connects do not arrive while the fault is placed."""
HOLD_LINK: Point[None] = Point("hold")
"""Bytes do not arrive while the fault is placed; connects do."""
LATENCY: Point[Latency] = Point("latency")
"""Bytes arrive later."""
BANDWIDTH: Point[int] = Point("bandwidth")
"""Bytes arrive at no more than this number of bytes a second."""
SLICE: Point[int] = Point("slice")
"""Bytes arrive in slices of no more than this number of bytes."""
CUT: Point[int] = Point("cut")
"""The connection ends after this number of bytes."""
RESET: Point[None] = Point("reset")
"""The connection ends at once."""
LINK_POINTS: tuple[Point[Any], ...] = (
    *(PARTITION, HOLD_LINK, LATENCY, BANDWIDTH, SLICE, CUT, RESET),
)

# -- stores -------------------------------------------------------------------------------------

SLOW_FLUSH: Point[int] = Point("slow flush")
"""A flush of the log takes this number of milliseconds of the cluster's time."""
FLUSH: Point[Literal["lost", "failed"]] = Point("flush")
"""A flush of a file of the log does nothing, or fails."""
TEAR_LAST_WRITE: Point[int | None] = Point("tear last write")
"""A kill leaves this number of bytes of the log's last record; None: half of what body and
header take."""
TRUNCATE_SLAVE: Point[tuple[str, int]] = Point("truncate slave")
"""The next stop or kill of a slave cuts its log: ``to_offset`` or by ``lose_bytes``."""
DISK_FULL: Point[None] = Point("disk full")
"""The disk of a store is full while the fault is placed."""
FLIP_BYTE: Point[None] = Point("flip byte")
"""Not a place: a byte of a store is flipped when the fault is placed."""

# -- controllers --------------------------------------------------------------------------------

DEPOSE: Point[None] = Point("depose")
"""Not a place: the leader of the controllers leads no more when the fault is placed."""
FORGET: Point[None] = Point("forget")
"""Not a place: the controllers lose their log when the fault is placed."""

# -- replication --------------------------------------------------------------------------------

HOLD_SLAVE: Point[int] = Point("hold slave")
"""A slave appends nothing beyond this offset."""
WITHHOLD_ACKS: Point[None] = Point("withhold acks")
"""A master ignores a slave's report."""
TEAR_TRANSFER: Point[int] = Point("tear transfer")
"""A transfer's frame ends after this number of bytes, and the connection with it."""
BELIEVE_REPORTS: Point[None] = Point("believe reports")
"""A master believes what a slave reports first, even beyond its own log."""
REORDER_METADATA: Point[None] = Point("reorder metadata")
"""A master's answer is late: it comes after the answer to the slave's next request."""
