"""The faults of `mq.faults` for requests: by request code, point and scope."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Unpack, get_args

from fakemq.clock.durations import Duration, duration_ms
from fakemq.config import checked
from fakemq.errors import ConfigError, did_you_mean
from fakemq.faults.plan import ActiveFault, Point
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, parted, when
from fakemq.handles.faults.scopes import (
    Requested,
    Where,
    in_words,
    node_called,
    requested,
    response_code,
    response_name,
    scope,
)
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name

if TYPE_CHECKING:
    from fakemq.faults.points import RequestAction
    from fakemq.handles.running import Running
    from fakemq.protocol.code_names import RequestName, ResponseName
    from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5

At: TypeAlias = Literal["before_store", "before_reply", "before_replicate"]
"""The point where a fault acts on a request:

1. ``before_store``: the request has arrived, and the node has done nothing;
2. ``before_reply``: the node has handled the request, and its answer is about to leave;
3. ``before_replicate``: the answer has left, and no slave has received the message.
"""

_POINTS_IN_WORDS = (
    "before_store (nothing is done yet), before_reply (it is done and stored, the answer is not"
    " sent yet), before_replicate (the answer is sent, no slave has the message yet)"
)

Request: TypeAlias = "RequestCode | RequestCode5 | RequestName | int"
Response: TypeAlias = "ResponseCode | ResponseCode5 | ResponseName | int"
_MOST_COPIES = 1_000

# The requests that store a message, so that there is something to replicate.
_STORED_BY = frozenset(
    {
        *(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE),
        *(RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.END_TRANSACTION),
        *(RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2),
    }
)
# The answers to a send, besides SUCCESS, that say where the message was stored.
_SENT = frozenset(
    {
        *(ResponseCode.FLUSH_DISK_TIMEOUT, ResponseCode.FLUSH_SLAVE_TIMEOUT),
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
# The answers to a pull, besides SUCCESS, that say from where to pull next.
_PULLED = frozenset(
    {
        *(ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY),
        ResponseCode.PULL_OFFSET_MOVED,
    }
)
_WITH_HEADERS: dict[int, frozenset[ResponseCode]] = {
    RequestCode.SEND_MESSAGE: _SENT,
    RequestCode.SEND_MESSAGE_V2: _SENT,
    RequestCode.SEND_BATCH_MESSAGE: _SENT,
    RequestCode.SEND_REPLY_MESSAGE: _SENT,
    RequestCode.SEND_REPLY_MESSAGE_V2: _SENT,
    RequestCode.PULL_MESSAGE: _PULLED,
    RequestCode.LITE_PULL_MESSAGE: _PULLED,
}
"""Request code → the answers besides SUCCESS whose header clients read.

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
    """The limits of a request fault: for which requests, at which point, and how often."""

    at: At
    """The point where it acts; ``before_store`` by default."""


class Gate(Protocol):
    """A place where requests, answers or calls wait."""

    @property
    def waiting(self) -> int:
        """How many wait now."""

    def release(self) -> int:
        """Let all that wait continue, oldest first; return their number."""


class GateFault(Fault):
    """A fault that lets requests, answers or calls wait until `release`.

    To remove the fault also releases them.
    """

    def __init__(self, running: Running, placed: ActiveFault[Any], gate: Gate) -> None:
        super().__init__(running, placed)
        self._gate = gate

    @property
    def waiting(self) -> int:
        """How many requests, answers or calls wait now."""
        return self._call(lambda: self._gate.waiting)

    def release(self) -> int:
        """Let everything that waits continue, oldest first. Return how many there were."""
        return self._call(self._gate.release)


class RequestFaults(FaultPlacing):
    """Faults of the requests that clients and nodes send to brokers and name servers.

    ``request`` is a code of `RequestCode`, or of 5.5.0's `RequestCode5`: a member, a name
    (``"PULL_MESSAGE"``, ``"POP_MESSAGE"``) or a number. ``"send"`` stands for all three codes of
    sends (10, 310 and 320), ``"pull"`` for both of pulls (11 and 361).
    ``limits`` are those of three groups: 1. `Where` limits the fault to a node, topic, queue, group
    or client; 2. ``at`` is the point of `At`, by default ``"before_store"``; 3. `Often` says how
    often the fault acts, by default once.

    Each method raises ConfigError for arguments that contradict each other or can never apply, and
    LookupError for a node that does not exist.

    Example: ``mq.faults.drop("send", topic="orders", at="before_reply")`` stores the
    next message to ``orders`` and loses the answer.
    """

    def error(
        self,
        request: Request,
        *,
        code: Response,
        remark: str | None = None,
        **limits: Unpack[Limits],
    ) -> Fault:
        """Answer with an error.

        ``code`` is a code of `ResponseCode` by member, name or number; ``remark`` is the error
        text. At ``before_store`` the node does not handle the request; at ``before_reply`` it has
        handled it, and only the answer changes.

        ConfigError at ``before_store`` for a code whose answers have a header that clients read,
        such as FLUSH_DISK_TIMEOUT of a send: the header says where the message was stored, and no
        message was.
        """
        from fakemq.dispatch.faults import Answer

        number = response_code(code)
        name = response_name(code)
        if remark is None:
            remark = f"{name}: a fault of the test"
        else:
            checked.text("remark", remark)
        asked, answer = requested(request), Answer(number, remark)
        if limits.get("at", "before_store") == "before_store":
            for one in asked.codes:
                _require_error(one, number, name)
        return self._place_request_fault(f"error {name}", asked, answer, limits)

    def reply(
        self,
        request: Request,
        *,
        code: Response | None = None,
        remark: str | None = None,
        fields: Mapping[str, object] | None = None,
        body: bytes | str | None = None,
        **limits: Unpack[Limits],
    ) -> Fault:
        """Answer with another response.

        ``code``, ``remark``, ``fields`` (header fields by their names on the wire, such as
        ``{"queueOffset": 7}``) and ``body`` are parts of the response; at least one is given. At
        ``before_store`` they are the whole response, and the node does not handle the request. At
        ``before_reply`` they replace these parts of the node's own response.
        """
        from fakemq.dispatch.faults import Answer

        if code is None and remark is None and fields is None and body is None:
            raise ConfigError("reply: expected at least one of code=, remark=, fields= and body=")
        texts = {} if fields is None else checked.fields("fields", fields)
        data = None if body is None else checked.content("body", body)
        if remark is not None:
            checked.text("remark", remark)
        number = None if code is None else response_code(code)
        return self._place_request_fault(
            "other reply", requested(request), Answer(number, remark, texts, data), limits
        )

    def delay(self, request: Request, by: Duration, **limits: Unpack[Limits]) -> Fault:
        """Handle the request later, or at ``before_reply`` send its answer later.

        ``by`` is a time of the cluster's clock, such as ``"3s"`` or 3 (seconds).
        """
        from fakemq.dispatch.faults import Delay

        ms = duration_ms(by, name="delay")
        if ms < 0:
            raise ConfigError(f"delay by {by!r}: expected a time from now on")
        return self._place_request_fault(f"delay by {ms} ms", requested(request), Delay(ms), limits)

    def drop(self, request: Request, **limits: Unpack[Limits]) -> Fault:
        """Lose the request before it is handled, or at ``before_reply`` only its answer."""
        from fakemq.dispatch.faults import Drop

        return self._place_request_fault("drop", requested(request), Drop(), limits)

    def duplicate(self, request: Request, copies: int = 2, **limits: Unpack[Limits]) -> Fault:
        """Handle the request ``copies`` times, from 2 to 1,000, as if the network repeated it.

        The client gets the answer of the first. ConfigError at ``before_reply``: the request has
        been handled there.
        """
        from fakemq.dispatch.faults import Duplicate

        checked.whole("copies", copies, 2, _MOST_COPIES)
        if limits.get("at", "before_store") == "before_reply":
            raise ConfigError("duplicate at before_reply: the request has been handled there")
        return self._place_request_fault(
            f"handle {copies} times", requested(request), Duplicate(copies), limits
        )

    def close(self, request: Request, **limits: Unpack[Limits]) -> Fault:
        """Lose the request, or at ``before_reply`` its answer, and close its connection."""
        from fakemq.dispatch.faults import Close

        return self._place_request_fault("close connection", requested(request), Close(), limits)

    def park(self, request: Request, **limits: Unpack[Limits]) -> GateFault:
        """Let the request, or at ``before_reply`` its answer, wait until `GateFault.release`."""
        from fakemq.dispatch.faults import Park

        gate = Park()
        fault = self._place_request_fault("park", requested(request), gate, limits, gate.end)
        return GateFault(self._running, fault._placed, gate)

    def kill(self, request: Request, **limits: Unpack[Limits]) -> Fault:
        """Kill the node when the request comes, as by ``kill -9``; it is down until a restart.

        1. At ``before_store`` the node has not handled the request.
        2. At ``before_reply`` it has handled the request, and its answer is lost.
        3. At ``before_replicate`` an ASYNC_MASTER has answered, and no slave has the message; only
           for requests that store a message.
        """
        from fakemq.dispatch.faults import KillNode

        def kill(node: str) -> None:
            server = self._running().server
            server.kill_node(node_called(server.core, node))

        return self._place_request_fault("kill", requested(request), KillNode(kill), limits)

    def pause(self, request: Request, **limits: Unpack[Limits]) -> Fault:
        """Pause the node when the request comes, as by SIGSTOP, until its ``resume()``.

        It then continues with the request, or at ``before_reply`` with its answer.
        """
        from fakemq.dispatch.faults import Pause

        def pause(node: str) -> None:
            node_called(self._core, node).pause()

        return self._place_request_fault("pause", requested(request), Pause(pause), limits)

    # -- placing ------------------------------------------------------------------------------

    def _place_request_fault(
        self,
        what: str,
        asked: Requested,
        action: RequestAction,
        limits: Limits,
        on_end: Callable[[], None] = lambda: None,
    ) -> Fault:
        if _TO_CLIENTS_ONLY.intersection(asked.codes):
            raise ConfigError(
                f"no node is sent a {asked.name}: brokers send it to clients;"
                " see drop_call, delay_call, duplicate_call and reorder_calls"
            )
        where, often, at = _parted(limits)
        scoped = scope(self._core, asked.codes, **where)
        point = self._point(at, asked, scoped.node, what)
        return self._place(
            point,
            action,
            in_words(f"{what} {asked.name}", scoped, at),
            scoped,
            when(often),
            must_fire=often.get("must_fire", True),
            on_end=on_end,
        )

    def _point(
        self, at: str, asked: Requested, node: str | None, what: str
    ) -> Point[RequestAction]:
        from fakemq.faults.points import BEFORE_REPLICATE, BEFORE_REPLY, BEFORE_STORE

        if at != "before_replicate":
            return BEFORE_STORE if at == "before_store" else BEFORE_REPLY
        if what != "kill":
            raise ConfigError(
                f"{what} at before_replicate: the answer has left; only kill has an effect there"
            )
        if not _STORED_BY.issuperset(asked.codes):
            raise ConfigError(f"at before_replicate: a {asked.name} stores no message")
        role = None if node is None else self._core.broker(node).role.name
        if role not in (None, "ASYNC_MASTER"):
            raise ConfigError(
                f"at before_replicate: {node} is no ASYNC_MASTER; a SYNC_MASTER answers after its"
                " slaves have the message, and a slave has no slaves"
            )
        return BEFORE_REPLICATE


def _parted(limits: Limits) -> tuple[Where, Often, str]:
    """Split the limits: where, how often, at which point. TypeError for an unknown limit."""
    where, often = parted(limits, ("at",))
    at = limits.get("at", "before_store")
    if at not in get_args(At):
        # To after_store, before_store is nearest by its letters, and the opposite.
        is_other_side = str(at).casefold().startswith("after")
        hint = "" if is_other_side else did_you_mean(str(at), get_args(At), lists=False)
        raise ConfigError(f"at={at!r}: expected one of {_POINTS_IN_WORDS}{hint}")
    return where, often, at


def _require_error(request: int, code: int, name: str) -> None:
    """Raise ConfigError for a code whose answers have a header that clients read.

    An error has no such header, and a client fails on its absence.
    """
    if code == ResponseCode.SUCCESS or code in _with_headers(request):
        raise ConfigError(
            f"{name} is no error of a {code_name(request)}: clients read the header of its answer,"
            f" and before_store there is none; see reply(…, code={name!r}, at='before_reply')"
        )


def _with_headers(request: int) -> Collection[int]:
    """Return the answers besides SUCCESS whose header clients read."""
    if request in list(RequestCode):
        return _WITH_HEADERS.get(request, ())
    from fakemq.faults.v5_requests import WITH_HEADERS

    return WITH_HEADERS.get(request, ())
