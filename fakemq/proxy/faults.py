"""Faults of RPCs: their effects on an RPC before its handler, and on its answer.

The dispatcher calls `intercept_rpc` and `intercept_answer` only where a fault is placed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakemq.faults.plan import Scope
from fakemq.faults.points import BEFORE_RPC, BEFORE_RPC_REPLY
from fakemq.faults.request_scope import with_instances
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.proxy.status import status

if TYPE_CHECKING:
    from fakemq.faults.plan import ActiveFault, Point
    from fakemq.faults.points import RpcAction
    from fakemq.protocol.grpc.rpc import Rpc
    from fakemq.proxy.call import Call, Context
    from fakemq.proxy.proxy import Proxy
    from fakemq.proxy.status import Code

CANCEL: Final = 8
"""HTTP/2's code for a stream that is given up."""

_NEED_THEIR_CALL: Final = frozenset({"ReceiveMessage", "Heartbeat", "Telemetry"})
"""RPCs that are not handled after their caller has gone: a late receive would take messages for a
client that does not exist."""


class InterceptedRpc(NamedTuple):
    """An RPC, or its answer, that a fault affects."""

    front: Proxy
    call: Call
    proceed: Callable[[], None]
    """Continue with the RPC, or with its answer, as without the fault."""


class RpcFault:
    """The action of a fault at one of the RPC points."""

    def apply(self, intercepted: InterceptedRpc) -> None:
        raise NotImplementedError


class AnswerStatus(RpcFault):
    """Answer with a code of the API; at a receive it is the whole stream."""

    def __init__(self, code: Code, text: str) -> None:
        self._code, self._text = code, text

    def apply(self, intercepted: InterceptedRpc) -> None:
        call = intercepted.call
        call.send_now(call.rpc.response(status=status(self._code, self._text)))
        if not call.rpc.request_stream:
            call.end_now()


class EndWithStatus(RpcFault):
    """End the call with a status of gRPC, without an answer."""

    def __init__(self, grpc_status: GrpcStatus, text: str) -> None:
        self._status, self._text = grpc_status, text

    def apply(self, intercepted: InterceptedRpc) -> None:
        intercepted.call.end_now(self._status, self._text)


class DelayRpc(RpcFault):
    """Continue ``ms`` later, by the cluster's clock."""

    def __init__(self, ms: int) -> None:
        self._ms = ms

    def apply(self, intercepted: InterceptedRpc) -> None:
        front, call, proceed = intercepted
        within = front.journal.resume()

        def late() -> None:
            if front.running and not (call.closed and call.rpc.name in _NEED_THEIR_CALL):
                with within():
                    proceed()

        front.clock.call_later(self._ms, late, kind="late_by_fault")


class DropRpc(RpcFault):
    """Lose the RPC, or its answer: the caller waits until its deadline."""

    def apply(self, intercepted: InterceptedRpc) -> None:
        pass


class ResetRpc(RpcFault):
    """End the stream by RST_STREAM with an error code of HTTP/2."""

    def __init__(self, code: int) -> None:
        self._code = code

    def apply(self, intercepted: InterceptedRpc) -> None:
        intercepted.call.session.reset_call(intercepted.call, self._code)


class LeaveOpen(RpcFault):
    """Send the answer without its end: the caller has the messages, and no status."""

    def apply(self, intercepted: InterceptedRpc) -> None:
        gate = intercepted.call.gate
        intercepted.proceed()
        if gate is not None and not intercepted.call.closed:
            intercepted.call.gate = _Endless(intercepted.call)


class GoAway(RpcFault):
    """Close the connection with a GOAWAY; the RPC, or its answer, is lost."""

    def apply(self, intercepted: InterceptedRpc) -> None:
        intercepted.call.session.close("a fault")


# -- answers --------------------------------------------------------------------------------------


class _Endless:
    """A gate that passes on messages, and no end."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def send(self, message: Any) -> None:
        self._call.send_now(message)

    def end(self, status: GrpcStatus, text: str) -> None:
        """Leave the call open."""


class _Gate:
    """Takes what answers a message until its first piece, and then lets a fault act, if one does.

    What comes before the answer continues is kept in order.
    """

    def __init__(self, front: Proxy, context: Context, message: Any) -> None:
        self._front, self._context = front, context
        self._scope = rpc_scope(front.name, context, message)
        self._chosen = False
        self._kept: list[Callable[[], None]] = []

    def send(self, message: Any) -> None:
        self._keep(lambda: self._context.call.send(message))

    def end(self, status: GrpcStatus, text: str) -> None:
        self._keep(lambda: self._context.call.end(status, text))

    def _keep(self, act: Callable[[], None]) -> None:
        self._kept.append(act)
        if self._chosen:
            return
        self._chosen = True
        fault = _chosen(BEFORE_RPC_REPLY, self._front, self._scope)
        if fault is None:
            self._proceed()
            return
        call = self._context.call
        _hit(fault, InterceptedRpc(self._front, call, self._proceed))
        if call.rpc.request_stream and call.gate is self:
            call.gate = None  # the fault was for this message, the stream has more

    def _proceed(self) -> None:
        call = self._context.call
        if call.gate is self:
            call.gate = None
        kept, self._kept = self._kept, []
        for act in kept:
            act()


# -- interception ---------------------------------------------------------------------------------


def intercept_rpc(
    front: Proxy, context: Context, message: Any, proceed: Callable[[], None]
) -> bool:
    """Return whether a fault took an arrived message; if so, its effect was applied."""
    fault = _chosen(BEFORE_RPC, front, rpc_scope(front.name, context, message))
    if fault is None:
        return False
    _hit(fault, InterceptedRpc(front, context.call, proceed))
    return True


def intercept_answer(front: Proxy, context: Context, message: Any) -> None:
    """Let faults act on what answers a message of an RPC."""
    context.call.gate = _Gate(front, context, message)


def _chosen(
    point: Point[RpcAction], front: Proxy, happening: Scope
) -> ActiveFault[RpcAction] | None:
    return front.faults.choose(point, happening)


def _hit(fault: ActiveFault[RpcAction], intercepted: InterceptedRpc) -> None:
    front, call = intercepted.front, intercepted.call
    on = f"{call.rpc.name} of {call.remote_addr}"
    with front.journal.because(fault.hit(front.name, on)):
        fault.action.apply(intercepted)


BEFORE_RPC.intercept = intercept_rpc
BEFORE_RPC_REPLY.intercept = intercept_answer


# -- what an RPC concerns -------------------------------------------------------------------------


def rpc_scope(node: str, context: Context, message: Any) -> Scope:
    """Return what a message of an RPC concerns."""
    said: dict[str, set[str | int]] = {}
    for what, value in _said(message):
        said.setdefault(what, set()).add(value)
    clients = with_instances({context.client_id, context.remote_addr} - {""})
    return Scope(
        rpc=context.call.rpc.name,
        node=node,
        client=frozenset(clients),
        **{what: frozenset(of) for what, of in said.items()},  # type: ignore[arg-type]  # each of its own kind
    )


def _said(message: Any) -> list[tuple[str, str | int]]:
    fields = message.DESCRIPTOR.fields_by_name
    said: list[tuple[str, str | int]] = []
    if "topic" in fields:
        said.append(("topic", message.topic.name))
    if "group" in fields:
        said.append(("group", message.group.name))
    if "message_queue" in fields:
        queue = message.message_queue
        said += [("topic", queue.topic.name), ("queue", queue.id)]
    if "messages" in fields:
        said += [("topic", one.topic.name) for one in message.messages]
    if "settings" in fields:
        settings = message.settings
        said += [("topic", topic.name) for topic in settings.publishing.topics]
        said.append(("group", settings.subscription.group.name))
        said += [("topic", one.topic.name) for one in settings.subscription.subscriptions]
    return [(what, value) for what, value in said if value != ""]


def names_of(rpc: Rpc) -> frozenset[str]:
    """Return which of topic, queue and group the requests of an RPC name."""
    fields = rpc.request.DESCRIPTOR.fields_by_name
    names = {name for name in ("topic", "group") if name in fields}
    if "message_queue" in fields:
        names |= {"topic", "queue"}
    if "messages" in fields:
        names.add("topic")
    if "settings" in fields:
        names |= {"topic", "group"}
    return frozenset(names)
