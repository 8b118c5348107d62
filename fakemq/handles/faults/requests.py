"""Faults of requests, as tests place them: by code, at a point, scoped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Unpack, get_args

from fakemq.clock.durations import Duration, duration_ms
from fakemq.config import checked
from fakemq.errors import ConfigError, did_you_mean
from fakemq.faults.plan import ActiveFault, Point
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, require_known, when
from fakemq.handles.faults.scopes import (
    Where,
    in_words,
    node_called,
    request_code,
    response_code,
    scope,
)
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name

if TYPE_CHECKING:
    from fakemq.faults.points import RequestAction
    from fakemq.handles.running import Running

At: TypeAlias = Literal["before_store", "before_reply", "before_replicate"]
"""Where a fault meets a request: as it comes, with nothing done; when it was handled and its answer
is about to leave; when its answer has left and no slave has heard of it."""

Request: TypeAlias = RequestCode | int | str

_STORED_BY = frozenset(
    {
        *(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE),
        *(RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.END_TRANSACTION),
        *(RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2),
    }
)
_SENT = frozenset(
    {
        *(ResponseCode.FLUSH_DISK_TIMEOUT, ResponseCode.FLUSH_SLAVE_TIMEOUT),
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
_PULLED = frozenset(
    {
        *(ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY),
        ResponseCode.PULL_OFFSET_MOVED,
    }
)
_TOLD_BY_HEADERS: dict[int, frozenset[ResponseCode]] = {
    RequestCode.SEND_MESSAGE: _SENT,
    RequestCode.SEND_MESSAGE_V2: _SENT,
    RequestCode.SEND_BATCH_MESSAGE: _SENT,
    RequestCode.SEND_REPLY_MESSAGE: _SENT,
    RequestCode.SEND_REPLY_MESSAGE_V2: _SENT,
    RequestCode.PULL_MESSAGE: _PULLED,
    RequestCode.LITE_PULL_MESSAGE: _PULLED,
}
"""Answers besides SUCCESS whose header clients read.

Source: client/impl/MQClientAPIImpl.processSendResponse, processPullResponse (4.9.7)
"""
_TO_CLIENTS_ONLY = {
    RequestCode.CHECK_TRANSACTION_STATE,
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
    RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
    RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
}


class Limits(Where, Often, total=False):
    """What a fault of requests is limited to, where it meets them, and how often."""

    at: At


class Gate(Protocol):
    """Where something waits."""

    @property
    def waiting(self) -> int: ...

    def release(self) -> int: ...


class GateFault(Fault):
    """A gate: what came to it waits until `release`; removing the fault lets it through, too."""

    def __init__(self, running: Running, placed: ActiveFault[Any], gate: Gate) -> None:
        super().__init__(running, placed)
        self._gate = gate

    @property
    def waiting(self) -> int:
        """How much waits now."""
        return self._call(lambda: self._gate.waiting)

    def release(self) -> int:
        """Let all that waits go on, oldest first; gives how much that was."""
        return self._call(self._gate.release)


class RequestFaults(FaultPlacing):
    """Faults of requests to brokers and name servers.

    ``request`` is a code of `RequestCode` by member, name or number; `Where` limits a fault to a
    node, topic, queue, group or client, `Often` says how often it has its effect, once by default.
    Raises ConfigError for what makes no sense, LookupError for a node that is not here.
    """

    def error(
        self,
        request: Request,
        *,
        code: ResponseCode | int | str,
        remark: str | None = None,
        **limits: Unpack[Limits],
    ) -> Fault:
        """The answer is an error; before_store, which is the default, nothing was done.

        ConfigError there for a code whose answers have a header that clients read, such as
        FLUSH_DISK_TIMEOUT of a send: nothing was done that it could tell of.
        """
        from fakemq.dispatch.faults import Answer

        number = response_code(code)
        name = ResponseCode(number).name if number in list(ResponseCode) else str(number)
        if remark is None:
            remark = f"{name}: a fault of the test"
        checked.text("remark", remark)
        if limits.get("at", "before_store") == "before_store":
            _require_error(request_code(request), number, name)
        return self._place_request_fault(f"error {name}", request, Answer(number, remark), limits)

    def reply(
        self,
        request: Request,
        *,
        code: ResponseCode | int | str | None = None,
        remark: str | None = None,
        fields: Mapping[str, object] | None = None,
        body: bytes | str | None = None,
        **limits: Unpack[Limits],
    ) -> Fault:
        """The answer is another: before_store all of it, before_reply what is given here.

        ``fields`` are the header's, by their names on the wire, such as ``queueOffset``.
        """
        from fakemq.dispatch.faults import Answer

        if code is None and remark is None and fields is None and body is None:
            raise ConfigError("reply: one of code=, remark=, fields= and body= says what is other")
        texts = {} if fields is None else checked.fields("fields", fields)
        data = None if body is None else checked.content("body", body)
        if remark is not None:
            checked.text("remark", remark)
        number = None if code is None else response_code(code)
        return self._place_request_fault(
            "other reply", request, Answer(number, remark, texts, data), limits
        )

    def delay(self, request: Request, by: Duration, **limits: Unpack[Limits]) -> Fault:
        """It goes on so much later by the cluster's clock, or its answer leaves later."""
        from fakemq.dispatch.faults import Delay

        ms = duration_ms(by, name="delay")
        if ms < 0:
            raise ConfigError(f"delay by {by!r}: expected a time from now on")
        return self._place_request_fault(f"delay by {ms} ms", request, Delay(ms), limits)

    def drop(self, request: Request, **limits: Unpack[Limits]) -> Fault:
        """It is lost before it is handled; before_reply, only its answer is."""
        from fakemq.dispatch.faults import Drop

        return self._place_request_fault("drop", request, Drop(), limits)

    def close(self, request: Request, **limits: Unpack[Limits]) -> Fault:
        """It is lost, or its answer, and its connection is closed."""
        from fakemq.dispatch.faults import Close

        return self._place_request_fault("close connection", request, Close(), limits)

    def park(self, request: Request, **limits: Unpack[Limits]) -> GateFault:
        """It waits, or its answer does, until the fault is told to `GateFault.release` it."""
        from fakemq.dispatch.faults import Park

        gate = Park()
        fault = self._place_request_fault("park", request, gate, limits, gate.end)
        return GateFault(self._running, fault._placed, gate)

    def kill(self, request: Request, **limits: Unpack[Limits]) -> Fault:
        """The node dies on the spot, as by kill -9, and is down until it is restarted.

        before_store it has not handled the request; before_reply it has, and nobody is told;
        ``at="before_replicate"`` an ASYNC_MASTER has told the sender, and no slave has the message.
        """
        from fakemq.dispatch.faults import Kill

        def kill(node: str) -> None:
            server = self._running().server
            server.kill_node(node_called(server.core, node))

        return self._place_request_fault("kill", request, Kill(kill), limits)

    def pause(self, request: Request, **limits: Unpack[Limits]) -> Fault:
        """The node stands still, as by SIGSTOP, until it is told to resume.

        It goes on with the request then, or with its answer.
        """
        from fakemq.dispatch.faults import Pause

        def pause(node: str) -> None:
            node_called(self._core, node).pause()

        return self._place_request_fault("pause", request, Pause(pause), limits)

    # -- placing ------------------------------------------------------------------------------

    def _place_request_fault(
        self,
        what: str,
        request: Request,
        action: RequestAction,
        limits: Limits,
        on_end: Callable[[], None] = lambda: None,
    ) -> Fault:
        code = request_code(request)
        if code in _TO_CLIENTS_ONLY:
            raise ConfigError(
                f"no node is sent a {code_name(code)}: brokers send it to clients;"
                " see drop_call, delay_call, duplicate_call and reorder_calls"
            )
        where, often, at = _parted(limits)
        scoped = scope(self._core, code, **where)
        point = self._point(at, code, scoped.node, what)
        return self._place(
            point,
            action,
            in_words(f"{what} {code_name(code)}", scoped, at),
            scoped,
            when(often),
            must_fire=often.get("must_fire", True),
            on_end=on_end,
        )

    def _point(self, at: str, code: int, node: str | None, what: str) -> Point[RequestAction]:
        from fakemq.faults.points import BEFORE_REPLICATE, BEFORE_REPLY, BEFORE_STORE

        if at != "before_replicate":
            return BEFORE_STORE if at == "before_store" else BEFORE_REPLY
        if what != "kill":
            raise ConfigError(
                f"{what} at before_replicate: the answer has left; only kill makes a difference"
            )
        if code not in _STORED_BY:
            raise ConfigError(f"at before_replicate: a {code_name(code)} stores no message")
        role = None if node is None else self._core.broker(node).config.broker_role
        if role not in (None, "ASYNC_MASTER"):
            raise ConfigError(
                f"at before_replicate: {node} is no ASYNC_MASTER; others answer when slaves have"
                " what was sent, or have no slaves"
            )
        return BEFORE_REPLICATE


def _parted(limits: Limits) -> tuple[Where, Often, str]:
    """Where, how often and at which point; TypeError for what none of them knows."""
    at = limits.get("at", "before_store")
    if at not in get_args(At):
        hint = did_you_mean(str(at), get_args(At), lists=False)
        raise ConfigError(f"at={at!r}: expected one of {', '.join(get_args(At))}{hint}")
    where, often = parted({name: of for name, of in limits.items() if name != "at"})
    return where, often, at


def parted(limits: Mapping[str, object]) -> tuple[Where, Often]:
    """Where and how often; TypeError, as for any unknown argument, for what neither knows."""
    require_known(limits, [*Where.__annotations__, *Often.__annotations__])
    where = Where(**{n: of for n, of in limits.items() if n in Where.__annotations__})  # type: ignore[typeddict-item]  # checked by `scope`
    often = Often(**{n: of for n, of in limits.items() if n in Often.__annotations__})  # type: ignore[typeddict-item]  # checked by `when`
    return where, often


def _require_error(request: int, code: int, name: str) -> None:
    """Refuse a code whose answers have a header that clients read, which no error has."""
    if code == ResponseCode.SUCCESS or code in _TOLD_BY_HEADERS.get(request, ()):
        raise ConfigError(
            f"{name} is no error of a {code_name(request)}: clients read the header of its answer,"
            f" and there is none before_store; see reply(…, code={name!r}, at='before_reply')"
        )
