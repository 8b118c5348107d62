"""From a request to its handler, and from the handler's outcome to a response.

A handler is one function in a module of a ``handlers`` package, registered by
``@handles(table.SOME_CODE)``; it returns a `Reply` (now), a `Parked` (later) or None (never).
Three kinds of error have three fates: `Refused` is an answer, a header the processor would choke
on is code 1 with Java's exception text, anything else is our bug: code 1 and a journal entry
that fails the test.

Source: remoting/netty/NettyRemotingAbstract.java#processRequestCommand (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from fakemq.events.core import HandlerFailed, RequestHandled
from fakemq.faults.plan import Point
from fakemq.protocol.codes import ResponseCode, code_name
from fakemq.protocol.command import (
    FLAG_ONEWAY,
    FLAG_RESPONSE,
    Body,
    RemotingCommand,
    SerializeType,
)
from fakemq.protocol.errors import BodyError, HeaderError, NullFieldError, NumberFormatError
from fakemq.protocol.table import RequestHeader, ResponseHeader, Row

if TYPE_CHECKING:
    from fakemq.clock.clock import NodeClock
    from fakemq.dispatch.faults import RequestFault
    from fakemq.events.core import Delivered
    from fakemq.faults.plan import FaultPlan
    from fakemq.journal.journal import Cause, Journal
    from fakemq.net.session import Session
    from fakemq.protocol.header import Header


NOTHING_SAID = "not set any response code"
"""The remark that every response of Java's is born with, of those that set no other."""


class Refused(Exception):  # noqa: N818  # an answer, not an error of ours
    """The request is answered with this code and remark; the remark is Java's text, verbatim."""

    def __init__(self, code: ResponseCode, remark: str | None) -> None:
        super().__init__(f"{code.name}: {remark}")
        self.code = code
        self.remark = remark


class Request(msgspec.Struct, Generic[RequestHeader]):
    """A request as its handler sees it: decoded header, body, and who asked."""

    command: RemotingCommand
    header: RequestHeader
    session: Session

    @property
    def body(self) -> bytes:
        return self.command.body


class Reply(msgspec.Struct, Generic[ResponseHeader]):
    """A handler's answer; fields behind ``header`` are given by name.

    ``ext_fields`` go on top of the header's own.

    A ``body`` of slices is read when the batch of requests is written, in the same turn of the
    loop: what they show must stay as it is until then.
    It is written in the request's header serialisation, unless ``serialize_type`` says otherwise.
    """

    header: ResponseHeader | None = None
    body: Body = b""
    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    ext_fields: dict[str, str] | None = None
    serialize_type: SerializeType | None = None
    leaving: tuple[Delivered, Cause] | None = None
    """What is so only once faults of answers have let it leave, and what that is owed to."""

    def to_command(self, request: RemotingCommand) -> RemotingCommand:
        """The response to ``request`` but for its body, in the request's own serialisation."""
        ext_fields = {} if self.header is None else self.header.encode()
        if self.ext_fields:
            ext_fields |= self.ext_fields
        return RemotingCommand(
            self.code,
            ext_fields=ext_fields,
            flag=FLAG_RESPONSE,
            opaque=request.opaque,
            remark=self.remark,
            serialize_type=(
                request.serialize_type if self.serialize_type is None else self.serialize_type
            ),
        )


class Parked(Generic[ResponseHeader]):
    """An answer that comes later: whoever holds it calls ``resolve`` once.

    Resolving twice, or after the peer has gone, does nothing.
    """

    __slots__ = ("_answer", "_outcome", "_resolved")

    def __init__(self) -> None:
        self._answer: Callable[[Outcome], None] | None = None
        self._outcome: Outcome = None
        self._resolved = False

    def when_resolved(self, answer: Callable[[Outcome], None]) -> None:
        """Called by the dispatcher: where the outcome goes, at once if it is there already."""
        if self._resolved:
            answer(self._outcome)
        else:
            self._answer = answer

    def resolve(self, outcome: Reply[ResponseHeader] | Refused | None) -> None:
        """Answer now; None means that no answer is ever sent."""
        if self._resolved:
            return
        self._resolved, self._outcome = True, outcome
        answer, self._answer = self._answer, None
        if answer is not None:
            answer(outcome)


Outcome: TypeAlias = "Reply[Any] | Refused | None"


class Node(Protocol):
    """What a dispatcher needs of the node it works for."""

    name: str
    clock: NodeClock
    journal: Journal
    faults: FaultPlan


BEFORE_STORE: Point[RequestFault] = Point("before_store")
"""A request has come, and nothing was done with it."""
BEFORE_REPLY: Point[RequestFault] = Point("before_reply")
"""It was handled, its effects are there, and its answer has not been sent."""
BEFORE_REPLICATE: Point[RequestFault] = Point("before_replicate")
"""Its answer was sent, and an ASYNC_MASTER has not told its slaves yet."""

REQUEST_POINTS = (BEFORE_STORE, BEFORE_REPLY, BEFORE_REPLICATE)

NodeT = TypeVar("NodeT", bound=Node)
OutcomeT = TypeVar("OutcomeT")

_HandlerOf: TypeAlias = Callable[
    [NodeT, Request[RequestHeader]], "Reply[ResponseHeader] | Parked[ResponseHeader] | None"
]


class Handlers(Generic[NodeT]):
    """The handlers of one kind of node, found in one package: one registration per code."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._by_code: dict[int, tuple[Row[Any, Any], Callable[..., Any]]] = {}
        self._loaded = False

    def __call__(
        self, row: Row[RequestHeader, ResponseHeader]
    ) -> Callable[
        [_HandlerOf[NodeT, RequestHeader, ResponseHeader]],
        _HandlerOf[NodeT, RequestHeader, ResponseHeader],
    ]:
        """Register the decorated function for ``row``'s code; twice is an error at import."""

        def register(
            handler: _HandlerOf[NodeT, RequestHeader, ResponseHeader],
        ) -> _HandlerOf[NodeT, RequestHeader, ResponseHeader]:
            present = self._by_code.get(row.code)
            if present is not None and not _same(present[1], handler):
                raise LookupError(
                    f"{row.code.name} is handled twice: by {present[1].__module__}"
                    f" and by {handler.__module__}"
                )
            self._by_code[row.code] = (row, handler)
            return handler

        return register

    def find(self, code: int) -> tuple[Row[Any, Any], Callable[..., Any]] | None:
        """The row and handler of one code; most runs never see most codes.

        The module called like the code is imported first, and only if that is not it, all are.
        """
        if code not in self._by_code and not self._loaded:
            module = f"{self._package}.{code_name(code).lower()}"
            try:
                import_module(module)
            except ModuleNotFoundError as error:
                if error.name != module:
                    raise
            if code not in self._by_code:
                self.load()
        return self._by_code.get(code)

    def load(self) -> dict[int, tuple[Row[Any, Any], Callable[..., Any]]]:
        """Import every module of the package and give code → (row, handler)."""
        if not self._loaded:
            import pkgutil

            package = import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                import_module(f"{self._package}.{module.name}")
            self._loaded = True
        return self._by_code


def _same(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    # A module that was forgotten, as pytester does, and imported anew.
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


class Dispatcher(Generic[NodeT]):
    """Answers the requests that reach one node."""

    def __init__(
        self,
        node: NodeT,
        handlers: Handlers[NodeT],
        *,
        on_unknown: Callable[[int], Outcome],
        without: frozenset[int] = frozenset(),
    ) -> None:
        self._node = node
        self._on_unknown = on_unknown
        self._all = handlers
        self._without = without
        self._handlers: dict[int, tuple[type[Header], Callable[..., Any]]] = {}
        """Those that have been asked for."""
        self._before_store = node.faults.at(BEFORE_STORE)
        self._before_reply = node.faults.at(BEFORE_REPLY)
        self._before_replicate = node.faults.at(BEFORE_REPLICATE)

    @property
    def node(self) -> NodeT:
        """The node that it works for."""
        return self._node

    def dispatch(self, session: Session, command: RemotingCommand) -> None:
        """Run the handler of ``command``; its response goes to ``session`` now or later."""
        if self._before_store:
            from fakemq.dispatch import faults as requests  # few clusters have faults

            if requests.meet_request(self, session, command):
                return
        self.handle(session, command)

    def handle(self, session: Session, command: RemotingCommand) -> None:
        """As `dispatch`, past the faults that keep requests from their handlers."""
        outcome: Parked[Any] | Outcome
        header: Header | None = None
        try:
            entry = self._handlers.get(command.code) or self._find(command.code)
            if entry is None:
                outcome = self._on_unknown(command.code)
            else:
                header_class, handler = entry
                header = header_class.decode(command.ext_fields)
                outcome = handler(self._node, Request(command, header, session))
        except Exception as error:
            outcome = _outcome_of_error(self._node, command.code, error)
        if isinstance(outcome, Parked):
            self._park(session, command, header, outcome)
        else:
            self._answer(session, command, header, outcome)

    def header_of(self, command: RemotingCommand) -> Header | None:
        """The header of a request as its handler will see it; None if nobody handles its code."""
        entry = self._handlers.get(command.code) or self._find(command.code)
        return None if entry is None else entry[0].decode(command.ext_fields)

    def _find(self, code: int) -> tuple[type[Header], Callable[..., Any]] | None:
        found = None if code in self._without else self._all.find(code)
        if found is None:
            return None
        row, handler = found
        entry = self._handlers[code] = (row.request_header, handler)
        return entry

    def _park(
        self,
        session: Session,
        command: RemotingCommand,
        header: Header | None,
        parked: Parked[Any],
    ) -> None:
        """Answer later, and keep of the request meanwhile only what `_answer` needs.

        What its handler keeps of it, as a header or a body to store, is counted to its peer.
        """
        kept_bytes = len(command.body) + sum(map(len, command.ext_fields.values()))
        command.body, command.ext_fields, command.remark = b"", {}, None
        session.parked_bytes += kept_bytes
        because_of_request = self._node.journal.resume()

        def answer(outcome: Outcome) -> None:
            session.parked_bytes -= kept_bytes
            with because_of_request():
                self._answer(session, command, header, outcome)

        parked.when_resolved(answer)

    def _answer(
        self, session: Session, command: RemotingCommand, header: Header | None, outcome: Outcome
    ) -> None:
        if self._before_reply or self._before_replicate:
            from fakemq.dispatch import faults as requests  # few clusters have faults

            requests.meet_answer(self, session, command, header, outcome)
        else:
            self.send_answer(session, command, outcome)

    def send_answer(self, session: Session, command: RemotingCommand, outcome: Outcome) -> None:
        """Answer a request, past the faults of answers; None says nothing to who asked."""
        if isinstance(outcome, Refused):
            outcome = Reply(code=outcome.code, remark=outcome.remark)
        self._node.journal.add(
            RequestHandled(
                node=self._node.name,
                code=command.code,
                peer=session.remote_addr,
                response_code=None if outcome is None else outcome.code,
            )
        )
        if outcome is not None and not command.flag & FLAG_ONEWAY:
            session.send(outcome.to_command(command), outcome.body, answers=command.code)


def outcome_of(node: Node, code: int, act: Callable[[], OutcomeT]) -> OutcomeT | Outcome:
    """What ``act`` gives for a request of ``code``, or what answers in place of what it raised.

    For whoever resolves a `Parked` from a callback, too: the peer is answered, whatever happens.
    """
    try:
        return act()
    except Exception as error:
        return _outcome_of_error(node, code, error)


def _outcome_of_error(node: Node, code: int, error: Exception) -> Outcome:
    if isinstance(error, Refused):
        return error
    if not isinstance(error, HeaderError):
        # A bug of ours, and none of the one who sent or moved the clock.
        node.journal.add(HandlerFailed.of(node.name, code, error))
    # Made outside the processor's callback, so in the server's own serialisation.
    return Reply(
        code=ResponseCode.SYSTEM_ERROR,
        remark=java_exception(error),
        serialize_type=SerializeType.JSON,
    )


def java_exception(error: Exception) -> str:
    """The remark of code 1: the exception's toString and, after a comma, where it was thrown.

    Source: remoting/common/RemotingHelper.java#exceptionSimpleDesc (4.9.7)
    """
    if isinstance(error, NullFieldError):
        return f"java.lang.NullPointerException: {error}, {error.header}.{error.field}"
    if isinstance(error, NumberFormatError):
        return (
            f"java.lang.NumberFormatException: {error},"
            " java.lang.NumberFormatException.forInputString(NumberFormatException.java)"
        )
    if isinstance(error, BodyError):
        return f"com.alibaba.fastjson.JSONException: {error}, com.alibaba.fastjson.JSON"
    return f"java.lang.RuntimeException: {type(error).__name__}: {error}, fakemq"
