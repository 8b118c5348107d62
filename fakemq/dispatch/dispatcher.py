"""From a request to its handler, and from the handler's outcome to a response.

A handler is one function in a module of a ``handlers`` package, registered by
``@handles(table.SOME_CODE)``; it returns a `Reply` (now), a `Parked` (later) or None (never).
There are three kinds of errors:

1. `Refused` is an answer with an error code.
2. A request on which Java's processor throws is answered by code 1 with Java's exception text.
3. Any other error is a bug of fakemq: it is answered by code 1, and its journal entry fails the
   test.

Source: remoting/netty/NettyRemotingAbstract.java#processRequestCommand (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fakemq.dispatch.answers import Outcome, Parked, Refused, Reply, Request
from fakemq.dispatch.java_errors import java_exception
from fakemq.dispatch.node import JournaledNode, Node
from fakemq.events.core import HandlerFailed, RequestHandled
from fakemq.faults.points import BEFORE_REPLICATE, BEFORE_REPLY, BEFORE_STORE
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand, SerializeType
from fakemq.protocol.errors import HeaderError

if TYPE_CHECKING:
    from fakemq.dispatch.registry import Handlers
    from fakemq.net.session import Session
    from fakemq.protocol.header import Header


NodeT = TypeVar("NodeT", bound=Node)
OutcomeT = TypeVar("OutcomeT")


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
        """Code → header class and handler, for the codes that have arrived."""
        self._before_store = node.faults.at(BEFORE_STORE)
        self._before_reply = node.faults.at(BEFORE_REPLY)
        self._before_replicate = node.faults.at(BEFORE_REPLICATE)

    @property
    def node(self) -> NodeT:
        """The node that has this dispatcher."""
        return self._node

    def dispatch(self, session: Session, command: RemotingCommand) -> None:
        """Run the handler of ``command``; its response goes to ``session`` now or later."""
        if not (self._before_store and BEFORE_STORE.intercept(self, session, command)):
            self.handle(session, command)

    def handle(self, session: Session, command: RemotingCommand) -> None:
        """Dispatch without the faults at BEFORE_STORE."""
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
        """Return a request's header as its handler sees it; None if its code has no handler."""
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
        """Answer later; until then keep only the parts of the request that `_answer` needs.

        The handler may keep its header and body, so their bytes count as held for the peer.
        """
        kept_bytes = len(command.body) + sum(map(len, command.ext_fields.values()))
        command.body, command.ext_fields, command.remark = b"", {}, None
        release = session.hold(kept_bytes)
        with_request_cause = self._node.journal.resume()

        def answer(outcome: Outcome) -> None:
            release()
            with with_request_cause():
                self._answer(session, command, header, outcome)

        parked.when_resolved(answer)

    def _answer(
        self, session: Session, command: RemotingCommand, header: Header | None, outcome: Outcome
    ) -> None:
        # BEFORE_REPLY and BEFORE_REPLICATE share one effect module, so one intercept serves both.
        if self._before_reply or self._before_replicate:
            BEFORE_REPLY.intercept(self, session, command, header, outcome)
        else:
            self.send_answer(session, command, outcome)

    def send_answer(self, session: Session, command: RemotingCommand, outcome: Outcome) -> None:
        """Answer a request without the faults of answers; None sends no answer."""
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
            session.send(response(command, outcome), outcome.body, answers=command.code)


def response(request: RemotingCommand, reply: Reply[Any]) -> RemotingCommand:
    """Return the response to ``request`` without its body."""
    ext_fields = {} if reply.header is None else reply.header.encode()
    if reply.ext_fields:
        ext_fields |= reply.ext_fields
    serialize_type = reply.serialize_type
    command = RemotingCommand(
        reply.code,
        ext_fields=ext_fields,
        flag=FLAG_RESPONSE,
        opaque=request.opaque,
        remark=reply.remark,
        serialize_type=request.serialize_type if serialize_type is None else serialize_type,
    )
    relayed = reply.relayed
    if relayed is not None:
        command.flag |= relayed.flag
        command.language, command.version = relayed.language, relayed.version
    return command


def outcome_of(node: JournaledNode, code: int, act: Callable[[], OutcomeT]) -> OutcomeT | Outcome:
    """Return the result of ``act`` for a request of ``code``, or the answer to what it raises.

    A callback that resolves a `Parked` calls this, too, so that the peer always gets an answer.
    """
    try:
        return act()
    except Exception as error:
        return _outcome_of_error(node, code, error)


def _outcome_of_error(node: JournaledNode, code: int, error: Exception) -> Outcome:
    if isinstance(error, Refused):
        return error
    if not isinstance(error, HeaderError):
        # A bug of fakemq: the peer, or the caller that moved the clock, made no mistake.
        node.journal.add(HandlerFailed.of(node.name, code, error))
    # Java makes it outside the processor's callback, so in the server's own serialisation.
    return Reply(
        code=ResponseCode.SYSTEM_ERROR,
        remark=java_exception(error),
        serialize_type=SerializeType.JSON,
    )
