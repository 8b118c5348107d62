"""The faults of `mq.faults` for the gRPC front: by RPC, point and scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

import msgspec

from fakemq.clock.durations import Duration, duration_ms
from fakemq.config import checked
from fakemq.errors import ConfigError, did_you_mean
from fakemq.faults.plan import ONCE, Scope
from fakemq.faults.points import BEFORE_RPC, BEFORE_RPC_REPLY, EXPIRE_NOW
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, require_known, when
from fakemq.handles.faults.scopes import in_words

if TYPE_CHECKING:
    from fakemq.faults.plan import ActiveFault, Point
    from fakemq.faults.points import RpcAction
    from fakemq.protocol.grpc.rpc import Rpc
    from fakemq.protocol.grpc.status import GrpcStatus
    from fakemq.proxy.faults import RpcFault
    from fakemq.proxy.proxy import Proxy
    from fakemq.proxy.status import Code

RpcAt: TypeAlias = Literal["before_store", "before_reply"]
"""The point where a fault acts on an RPC:

1. ``before_store``: a message of it has arrived, and the front has done nothing;
2. ``before_reply``: the front has handled it, and its answer is about to leave.
"""

_POINTS: dict[str, Point[RpcAction]] = {
    "before_store": BEFORE_RPC,
    "before_reply": BEFORE_RPC_REPLY,
}
_UINT32_MAX = 2**32 - 1


class RpcWhere(TypedDict, total=False):
    """For which messages of an RPC a fault acts; a limit that is not given does not limit."""

    topic: str | None
    """A topic that the message names."""
    queue: int | None
    """The queue number that the message names; -1 stands for all queues of a broker."""
    group: str | None
    """The consumer group that the message names."""
    client: str | None
    """The caller: its client id, its part behind the ``@``, or the address of its connection."""
    at: RpcAt
    """The point where it acts; ``before_store`` by default."""


class RpcLimits(RpcWhere, Often, total=False):
    """The limits of an RPC fault: for which messages, at which point, and how often."""


class GrpcFaults(FaultPlacing):
    """Faults of the RPCs that clients of RocketMQ 5 call at the gRPC front (``grpc=True``).

    ``rpc`` is the name of an RPC: ``"SendMessage"``, ``"ReceiveMessage"``, ``"Telemetry"``.
    ``limits`` are those of `RpcLimits`. By default a fault acts once, when a message of the RPC
    arrives. For Telemetry, ``before_reply`` covers every message that the front sends: answers to
    settings, and what it sends to a client later.

    The front calls brokers as a proxy does, so the faults of requests act on it as well:
    ``mq.faults.error("POP_MESSAGE", code="SYSTEM_BUSY")`` makes the next ReceiveMessage fail.

    Each method raises ConfigError for a cluster without a front, for an unknown RPC or status, and
    for a limit that can never apply.
    """

    def grpc(
        self,
        rpc: str,
        *,
        status: Code | GrpcStatus | str | int,
        text: str | None = None,
        **limits: Unpack[RpcLimits],
    ) -> Fault:
        """Answer with a status.

        ``status`` is a code of RocketMQ's API (``"TOO_MANY_REQUESTS"``), which the answer carries,
        or a status of gRPC (``"UNAVAILABLE"``), which ends the call without an answer. Both know
        ``NOT_FOUND`` and ``OK``: these names mean the code. ``text`` is the text of the status. At
        ``before_reply`` the RPC has its effects, and only its answer is another.
        """
        from fakemq.proxy.faults import AnswerStatus, EndWithStatus
        from fakemq.proxy.status import Code

        known = self._status(status)
        if text is None:
            text = f"{known.name}: a fault of the test"
        else:
            checked.text("text", text)
        action = (
            AnswerStatus(known, text) if isinstance(known, Code) else EndWithStatus(known, text)
        )
        return self._place_rpc_fault(f"status {known.name}", rpc, action, limits)

    def grpc_delay(self, rpc: str, by: Duration, **limits: Unpack[RpcLimits]) -> Fault:
        """Handle the RPC later, or at ``before_reply`` answer it later.

        ``by`` is a time of the cluster's clock, such as ``"3s"`` or 3 (seconds). An RPC is handled
        although its caller has given it up meanwhile, except ReceiveMessage and Heartbeat.
        """
        from fakemq.proxy.faults import DelayRpc

        ms = duration_ms(by, name="delay")
        if ms < 0:
            raise ConfigError(f"delay by {by!r}: expected a time from now on")
        return self._place_rpc_fault(f"delay by {ms} ms", rpc, DelayRpc(ms), limits)

    def grpc_drop(self, rpc: str, **limits: Unpack[RpcLimits]) -> Fault:
        """Lose the RPC, or at ``before_reply`` its answer: the caller waits for its deadline.

        ``mq.faults.grpc_drop("Telemetry", at="before_reply", always=True)`` makes telemetry dead:
        the streams stay open, and no client gets anything.
        """
        from fakemq.proxy.faults import DropRpc

        return self._place_rpc_fault("drop", rpc, DropRpc(), limits)

    def grpc_reset(self, rpc: str, *, code: int = 8, **limits: Unpack[RpcLimits]) -> Fault:
        """End the stream of the RPC by RST_STREAM with an error code of HTTP/2.

        The default code is CANCEL (8); clients of gRPC see REFUSED_STREAM (7) as UNAVAILABLE.
        """
        from fakemq.proxy.faults import ResetRpc

        checked.whole("code", code, 0, _UINT32_MAX)
        return self._place_rpc_fault(f"reset with code {code}", rpc, ResetRpc(code), limits)

    def grpc_leave_open(self, rpc: str, **limits: Unpack[RpcLimits]) -> Fault:
        """Send the answer without its end: the stream stays half closed.

        The caller of ReceiveMessage has its messages, and waits for the end until its deadline.
        """
        from fakemq.proxy.faults import LeaveOpen

        if limits.get("at", "before_reply") != "before_reply":
            raise ConfigError("an answer can be left open only at before_reply")
        limits["at"] = "before_reply"
        return self._place_rpc_fault("leave open", rpc, LeaveOpen(), limits)

    def grpc_goaway(self, rpc: str, **limits: Unpack[RpcLimits]) -> Fault:
        """Close the caller's connection with a GOAWAY; the RPC, or its answer, is lost."""
        from fakemq.proxy.faults import GoAway

        return self._place_rpc_fault("GOAWAY", rpc, GoAway(), limits)

    def grpc_disconnect(self, *, client: str | None = None) -> Fault:
        """Close connections to the front now, each with a GOAWAY.

        ``client`` selects the connections of one client, as in `RpcLimits`; by default all are
        closed. LookupError if there is none.
        """
        return Fault(self._running, self._call(lambda: self._disconnect(client)))

    # -- placing ------------------------------------------------------------------------------

    def _disconnect(self, client: str | None) -> ActiveFault[Any]:
        from fakemq.faults.request_scope import with_instances

        front = self._front()
        sessions = [
            session
            for session in front.sessions
            if client is None
            or client in with_instances({session.remote_addr, *front.client_ids(session)})
        ]
        if not sessions:
            whose = "" if client is None else f" of {client!r}"
            raise LookupError(f"there is no connection{whose} to {front.name}")
        scope = Scope(node=front.name, client=client)
        placed = self._core.faults.place(
            EXPIRE_NOW, None, in_words("disconnect gRPC clients", scope), scope, ONCE
        )
        with front.journal.because(placed.hit(front.name, f"{len(sessions)} connections")):
            for session in sessions:
                session.close("a fault")
        return placed

    def _place_rpc_fault(self, what: str, rpc: str, action: RpcFault, limits: RpcLimits) -> Fault:
        require_known(limits, [*RpcWhere.__annotations__, *Often.__annotations__])
        row = self._rpc(rpc)
        scope = self._rpc_scope(row, limits)
        at = limits.get("at", "before_store")
        if at not in _POINTS:
            raise ConfigError(f"at={at!r}: expected one of {', '.join(_POINTS)}")
        often = Often(**{n: of for n, of in limits.items() if n in Often.__annotations__})  # type: ignore[typeddict-item]  # checked by `when`
        more = [] if at == "before_store" else [f"at={at}"]
        return self._place(
            _POINTS[at],
            action,
            in_words(f"{what}, {row.name}", msgspec.structs.replace(scope, rpc=None), *more),
            scope,
            when(often),
            must_fire=limits.get("must_fire", True),
        )

    def _front(self) -> Proxy:
        front = self._core.proxy
        if front is None:
            raise ConfigError("this cluster has no gRPC front: start it with grpc=True")
        return front

    def _rpc(self, name: str) -> Rpc:
        self._front()
        from fakemq.protocol.grpc.table import BY_NAME

        if checked.text("rpc", name) not in BY_NAME:
            hint = did_you_mean(name, BY_NAME)
            raise ConfigError(f"there is no RPC {name!r}{hint}")
        return BY_NAME[name]

    def _status(self, given: Code | GrpcStatus | str | int) -> Code | GrpcStatus:
        self._front()
        from fakemq.protocol.grpc.status import GrpcStatus
        from fakemq.proxy.status import Code

        if isinstance(given, Code | GrpcStatus):
            return given
        if isinstance(given, bool) or not isinstance(given, str | int):
            raise ConfigError(f"status={given!r}: expected a name, a number or a Code")
        for names in (Code, GrpcStatus):
            if isinstance(given, str) and given in names.__members__:
                return names[given]
            if isinstance(given, int) and given in {*names}:
                return names(given)
        if isinstance(given, int):
            hint = ": expected 0 to 16 for gRPC's own, or a code of RocketMQ's such as 40402"
        else:
            hint = did_you_mean(given, [*Code.__members__, *GrpcStatus.__members__])
        raise ConfigError(f"there is no status {given!r}{hint}")

    def _rpc_scope(self, row: Rpc, limits: RpcLimits) -> Scope:
        from fakemq.proxy.faults import names_of

        names = names_of(row)
        for name in ("topic", "queue", "group", "client"):
            value = limits.get(name)
            if value is None:
                continue
            if name == "queue":
                checked.whole("queue", value, -1)
            elif not (isinstance(value, str) and value):
                raise ConfigError(f"{name}={value!r}: expected a name")
            if name != "client" and name not in names:
                has = f"; it names {' and '.join(sorted(names))}" if names else ""
                raise ConfigError(f"a {row.name} names no {name}: {name}= can never apply{has}")
        return Scope(
            rpc=row.name,
            topic=limits.get("topic"),
            queue=limits.get("queue"),
            group=limits.get("group"),
            client=limits.get("client"),
        )
