"""From a request to its handler, and from the handler's outcome to a response.

A handler is one function in a module of a ``handlers`` package, registered by
``@handles(table.SOME_CODE)``; it returns a `Reply` (now), a `Parked` (later) or None (never), or
is a generator that returns one (`fakemq.dispatch.long_work`).
`fakemq.dispatch.outcomes` says what a peer gets for an error.

Source: remoting/netty/NettyRemotingAbstract.java#processRequestCommand (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from fakemq.dispatch.answers import Outcome, Parked, Refused, Reply, Request
from fakemq.dispatch.node import Node
from fakemq.dispatch.outcomes import answer_to_error
from fakemq.faults.points import BEFORE_REPLICATE, BEFORE_REPLY, BEFORE_STORE
from fakemq.journal.noted import HANDLED
from fakemq.later import Later
from fakemq.protocol.command import (
    FLAG_ONEWAY,
    FLAG_RESPONSE,
    RemotingCommand,
    SerializeType,
)
from fakemq.protocol.send_answers import encode_send_answer, send_answer_fields
from fakemq.protocol.topics import FAQ

if TYPE_CHECKING:
    from fakemq.dispatch.registry import Handlers
    from fakemq.net.session import Session
    from fakemq.protocol.header import Header

    AnyHeader: TypeAlias = Header | msgspec.Struct

NodeT = TypeVar("NodeT", bound=Node)

# As constants of this module: compiled code would look up imported names in a dictionary.
_Request: Final = Request
_Reply: Final = Reply


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
        self._name = node.name
        self._journal = node.journal
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
        header: AnyHeader | None = None
        try:
            entry = self._handlers.get(command.code) or self._find(command.code)
            if entry is None:
                outcome = self._on_unknown(command.code)
            else:
                header_class, handler = entry
                header = command.usual
                if header is None:
                    header = header_class.decode(command.ext_fields)
                outcome = handler(self._node, _Request(command, header, session))
        except Exception as error:
            outcome = self.answer_to(command.code, error)
        # Most outcomes are a `Reply` itself, which is known at a look.
        if type(outcome) is not _Reply and isinstance(outcome, Later):
            self._park(session, command, header, outcome)
        else:
            self.answer(session, command, header, outcome)

    def header_of(self, command: RemotingCommand) -> AnyHeader | None:
        """Return a request's header as its handler sees it; None if its code has no handler."""
        entry = self._handlers.get(command.code) or self._find(command.code)
        if entry is None:
            return None
        return command.usual or entry[0].decode(command.ext_fields)

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
        header: AnyHeader | None,
        parked: Parked[Any],
    ) -> None:
        """Answer later; until then keep only the parts of the request that `answer` needs.

        The handler may keep its header and body, so their bytes count as held for the peer.
        """
        kept_bytes = kept_bytes_of(command)
        command.body, command.ext_fields, command.usual, command.remark = b"", {}, None, None
        command.decoded = None
        release = session.hold(kept_bytes)
        with_request_cause = self._journal.resume()

        def answer() -> None:
            release()
            try:
                outcome: Outcome = parked.result()
            except Exception as error:
                outcome = self.answer_to(command.code, error)
            with with_request_cause():
                self.answer(session, command, header, outcome)

        parked.when_done(answer)

    def answer_to(self, code: int, error: Exception) -> Outcome:
        """Return the answer to what the handler of a code has raised."""
        return answer_to_error(self._node, code, error)

    def answer(
        self, session: Session, command: RemotingCommand, header: AnyHeader | None, outcome: Outcome
    ) -> None:
        """Answer a request, unless a fault does so; None sends no answer."""
        # BEFORE_REPLY and BEFORE_REPLICATE share one effect module, so one intercept serves both.
        if self._before_reply or self._before_replicate:
            BEFORE_REPLY.intercept(self, session, command, header, outcome)
        else:
            self.send_answer(session, command, outcome)

    def send_answer(self, session: Session, command: RemotingCommand, outcome: Outcome) -> None:
        """Answer a request without the faults of answers; None sends no answer."""
        if type(outcome) is not _Reply and isinstance(outcome, Refused):
            outcome = Reply(code=outcome.code, remark=outcome.remark)
        if outcome is None or command.flag & FLAG_ONEWAY:
            self._journal.note((HANDLED, self._name, command.code, session.remote_addr, None))
            return
        event = (HANDLED, self._name, command.code, session.remote_addr, outcome.code)
        self._journal.note(event)
        usual = outcome.usual
        if usual is None:
            self._write(session, command, outcome)
        else:
            kind = command.serialize_type
            session.write(encode_send_answer(usual, outcome.code, command.opaque, kind))

    def _write(self, session: Session, command: RemotingCommand, reply: Reply[Any]) -> None:
        """Write the answer to a request; it is not the usual one to a send."""
        session.send(response(command, reply), reply.body, answers=command.code)


class VersionedDispatcher(Dispatcher[NodeT]):
    """Answers as another reference than 4.9.7 does: with its version, codes and hints."""

    def __init__(
        self,
        node: NodeT,
        handlers: Handlers[NodeT],
        *,
        on_unknown: Callable[[int], Outcome],
        without: frozenset[int] = frozenset(),
    ) -> None:
        self._reference = reference = node.reference
        super().__init__(
            node, handlers, on_unknown=on_unknown, without=without | reference.gone_codes
        )

    def _in_its_words(self, outcome: Outcome) -> Reply[Any] | None:
        """Return an answer with code and hint of the reference; a client's stays as it is."""
        if isinstance(outcome, Refused):
            outcome = outcome.reply_in(self._reference)
        if outcome is not None and outcome.relayed is None and FAQ in (outcome.remark or ""):
            outcome.remark = (outcome.remark or "").replace(FAQ, self._reference.faq)
        return outcome

    def send_answer(self, session: Session, command: RemotingCommand, outcome: Outcome) -> None:
        super().send_answer(session, command, self._in_its_words(outcome))

    def _write(self, session: Session, command: RemotingCommand, reply: Reply[Any]) -> None:
        if reply.relayed is not None:
            super()._write(session, command, reply)
            return
        body, reference = reply.body, self._reference
        if reference.answers_in_json and session.send_json_answer(
            reply.code, fields_of(reply), command.opaque, reply.remark, reference.version, body
        ):
            return
        marked = response(command, reply)
        marked.version = reference.version
        if reference.answers_in_json:
            marked.serialize_type = SerializeType.JSON
        session.send(marked, body, answers=command.code)


def kept_bytes_of(command: RemotingCommand) -> int:
    """Return the size of what a request that is answered later holds: its body and its texts."""
    usual = command.usual
    texts: Iterable[object] = command.ext_fields.values()
    if usual is not None:
        texts = msgspec.structs.astuple(usual)
    return len(command.body) + sum([len(text) for text in texts if isinstance(text, str)])


def response(request: RemotingCommand, reply: Reply[Any]) -> RemotingCommand:
    """Return the response to ``request`` without its body."""
    serialize_type = reply.serialize_type
    command = RemotingCommand(
        reply.code,
        ext_fields=fields_of(reply),
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


def fields_of(reply: Reply[Any]) -> dict[str, str]:
    """Return the ext fields of the response that a reply becomes."""
    usual, header = reply.usual, reply.header
    fields: dict[str, str] = {}
    if usual is not None:
        fields = send_answer_fields(usual)
    elif header is not None:
        fields = header.encode()
    if reply.ext_fields:
        fields |= reply.ext_fields
    return fields
