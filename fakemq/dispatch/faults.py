"""Faults of requests: their effects on a request before its handler, and on its answer.

`Dispatcher` calls `intercept_request` and `intercept_answer` only where a fault is placed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from fakemq.dispatch.answers import Refused, Reply
from fakemq.dispatch.dispatcher import kept_bytes_of
from fakemq.events.core import NodeStopped
from fakemq.events.faults import AnswerWithheld
from fakemq.faults.points import BEFORE_REPLICATE, BEFORE_REPLY, BEFORE_STORE
from fakemq.faults.request_scope import request_scope
from fakemq.protocol.codes import RequestCode, code_name
from fakemq.protocol.errors import HeaderError

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Outcome
    from fakemq.dispatch.dispatcher import AnyHeader, Dispatcher
    from fakemq.dispatch.node import Node
    from fakemq.faults.plan import ActiveFault, Point
    from fakemq.faults.points import RequestAction
    from fakemq.journal.entries import Entry
    from fakemq.net.session import Session
    from fakemq.protocol.command import RemotingCommand

_NEEDS_ITS_CONNECTION = frozenset(
    {RequestCode.HEART_BEAT, RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE}
)
"""Codes that are not handled after their connection has closed: a late heartbeat would keep a
closed client alive, a late pull would wait for a client that does not exist."""


class Intercepted(NamedTuple):
    """A request, or its answer, that a fault affects."""

    node: Node
    session: Session
    command: RemotingCommand
    outcome: Outcome
    """The answer; None if there is none, or not yet."""
    proceed: Callable[[], None]
    """Continue with the request, or the answer, as without the fault."""
    answer: Callable[[Outcome], None]
    """Answer with this instead; None sends no answer."""
    repeat: Callable[[], None]
    """Handle the request once more, without an answer."""


class RequestFault:
    """The action of a fault at one of the request points."""

    @property
    def withholds(self) -> bool:
        """Whether the answer is not sent unchanged at once."""
        return True

    def apply(self, intercepted: Intercepted) -> None:
        raise NotImplementedError


class Answer(RequestFault):
    """Replace the answer's code, remark, body or some fields; None keeps what is there."""

    def __init__(
        self,
        code: int | None = None,
        remark: str | None = None,
        fields: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> None:
        self._code, self._remark, self._fields, self._body = code, remark, fields or {}, body

    @property
    def withholds(self) -> bool:
        return self._code is not None or self._body is not None

    def apply(self, intercepted: Intercepted) -> None:
        reply = _editable(intercepted.outcome)
        if self.withholds:
            reply.leaving = None
        if self._code is not None:
            reply.code = self._code
        if self._remark is not None or self._code is not None:
            reply.remark = self._remark
        if self._body is not None:
            reply.body = self._body
        reply.ext_fields = {**(reply.ext_fields or {}), **self._fields}
        intercepted.answer(reply)


def _editable(outcome: Outcome) -> Reply[Any]:
    if outcome is None:
        return Reply()
    if isinstance(outcome, Refused):
        return Reply(code=outcome.code, remark=outcome.remark)
    return outcome.editable()


class Delay(RequestFault):
    """Continue ``ms`` later, by the cluster's clock."""

    def __init__(self, ms: int) -> None:
        self._ms = ms

    def apply(self, intercepted: Intercepted) -> None:
        deferred = defer(intercepted)
        intercepted.node.clock.call_later(self._ms, deferred, kind="late_by_fault")


class Duplicate(RequestFault):
    """Handle the request several times; the client gets the first answer."""

    def __init__(self, copies: int) -> None:
        self._copies = copies

    def apply(self, intercepted: Intercepted) -> None:
        intercepted.proceed()
        for _ in range(self._copies - 1):
            intercepted.repeat()


class Drop(RequestFault):
    """Lose the request, or the answer."""

    def apply(self, intercepted: Intercepted) -> None:
        intercepted.answer(None)


class Close(RequestFault):
    """Lose the request, or the answer, and close the connection."""

    def apply(self, intercepted: Intercepted) -> None:
        intercepted.answer(None)
        intercepted.session.close("a fault")


class KillNode(RequestFault):
    """Kill the node at once; ``kill`` is called with its name."""

    def __init__(self, kill: Callable[[str], None]) -> None:
        self._kill = kill

    def apply(self, intercepted: Intercepted) -> None:
        self._kill(intercepted.node.name)


class Pause(RequestFault):
    """Pause the node; continue when it resumes. ``pause`` is called with the node's name."""

    def __init__(self, pause: Callable[[str], None]) -> None:
        self._pause = pause

    def apply(self, intercepted: Intercepted) -> None:
        deferred, name = defer(intercepted), intercepted.node.name
        self._pause(name)

        def on_entry(entry: Entry) -> None:
            if entry.event.node == name:
                unlisten()
                if isinstance(entry.event, NodeStopped) and entry.event.how == "resume":
                    deferred()

        unlisten = intercepted.node.journal.listen(on_entry, NodeStopped)


class Park(RequestFault):
    """A gate: requests, or answers, wait until `release`."""

    def __init__(self) -> None:
        self._waiting: list[DeferredRequest] = []

    @property
    def waiting(self) -> int:
        """The number of waiting requests or answers."""
        self._waiting = [deferred for deferred in self._waiting if not deferred.gone]
        return len(self._waiting)

    def apply(self, intercepted: Intercepted) -> None:
        self._waiting.append(defer(intercepted))

    def release(self) -> int:
        """Continue with all that wait, oldest first; return their number."""
        count = self.waiting
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            deferred.resume()
        return count

    def end(self) -> None:
        """As `release`; called when the fault is removed."""
        self.release()


class DeferredRequest:
    """A request, or its answer, that continues when the object is called; at most once.

    Its bytes count to its peer until then. It is dropped (``gone``) when its node is stopped or
    killed, and when the node that sent the request is: its connections are closed then, and bytes
    on the way are lost. A client that has closed its connection does not drop it: the request is
    handled, as if it had waited in a queue. A request that is already ``answered`` no longer
    depends on its sender.
    """

    def __init__(self, intercepted: Intercepted, kept_bytes: int, answered: bool) -> None:
        self.gone = False
        self.on_lost: Callable[[], None] | None = None
        """Called when it is dropped."""
        self.node = intercepted.node
        self._intercepted = intercepted
        self._with_cause = intercepted.node.journal.resume()
        sender = None if answered else getattr(intercepted.session.link, "remote_node", None)
        self._nodes = {intercepted.node.name, sender}
        """The nodes whose end drops it; None stands for a sender outside the cluster."""
        self._unlisten = intercepted.node.journal.listen(self._on_stopped, NodeStopped)
        self._release_bytes = intercepted.session.hold(kept_bytes)

    def __call__(self) -> None:
        if self.gone:
            return
        session, code = self._intercepted.session, self._intercepted.command.code
        with self.end():
            if not (session.closed and code in _NEEDS_ITS_CONNECTION):
                self._intercepted.proceed()

    def resume(self) -> None:
        """Continue now; if the node is paused, when it resumes."""
        if self.node.clock.paused:
            self.node.clock.call_later(0, self, kind="late_by_fault")
        else:
            self()

    def end(self) -> AbstractContextManager[None]:
        """Forget the request, which continues no more; return a block with its cause."""
        self.gone = True
        self._unlisten()
        self._release_bytes()
        return self._with_cause()

    def _on_stopped(self, entry: Entry) -> None:
        event = entry.event
        is_end = isinstance(event, NodeStopped) and event.how in ("stop", "kill")
        if is_end and event.node in self._nodes and not self.gone:
            self.end()
            if self.on_lost is not None:
                self.on_lost()


def defer(intercepted: Intercepted, *, answered: bool = False) -> DeferredRequest:
    """Keep what was intercepted, to continue later; its cause stays the present one."""
    command, outcome = intercepted.command, intercepted.outcome
    kept_bytes = kept_bytes_of(command)
    if isinstance(outcome, Reply):
        # Slices of a store are valid only in this turn of the loop: copy them.
        if not isinstance(outcome.body, bytes):
            outcome.body = b"".join(outcome.body)
        kept_bytes += len(outcome.body)
    return DeferredRequest(intercepted, kept_bytes, answered)


# -- interception -----------------------------------------------------------------------------


def intercept_request(
    dispatcher: Dispatcher[Any], session: Session, command: RemotingCommand
) -> bool:
    """Return whether a fault took an arrived request; if so, its effect was applied."""
    node: Node = dispatcher.node
    try:
        header = dispatcher.header_of(command)
    except HeaderError:  # the handler answers with the error
        header = None
    fault = _chosen(BEFORE_STORE, node, session, command, header)
    if fault is None:
        return False
    copy = command.as_oneway()  # made now: a request that waits for its answer loses its content
    intercepted = Intercepted(
        node,
        session,
        command,
        None,
        lambda: dispatcher.handle(session, command),
        lambda outcome: dispatcher.send_answer(session, command, outcome),
        lambda: dispatcher.handle(session, copy.as_oneway()),
    )
    _hit(fault, intercepted)
    return True


def intercept_answer(
    dispatcher: Dispatcher[Any],
    session: Session,
    command: RemotingCommand,
    header: AnyHeader | None,
    outcome: Outcome,
) -> None:
    """Send an answer, or apply a fault to it; once it is sent, apply a BEFORE_REPLICATE fault."""
    node: Node = dispatcher.node

    def answer(outcome: Outcome) -> None:
        if isinstance(outcome, Reply) and outcome.leaving is not None:
            node.journal.add(outcome.leaving[0])
        dispatcher.send_answer(session, command, outcome)
        if outcome is None or not node.replicates_later:
            return
        fault = _chosen(BEFORE_REPLICATE, node, session, command, header)
        if fault is not None:
            _hit(
                fault, Intercepted(node, session, command, outcome, _nothing, _no_answer, _nothing)
            )

    def proceed() -> None:
        answer(outcome)

    fault = _chosen(BEFORE_REPLY, node, session, command, header)
    if fault is None:
        if isinstance(outcome, Reply) and outcome.leaving is not None:
            (event, cause), outcome.leaving = outcome.leaving, None
            with node.journal.because(cause):
                node.journal.add(event)
        answer(outcome)
    else:
        _hit(fault, Intercepted(node, session, command, outcome, proceed, answer, _nothing))


def _chosen(
    point: Point[RequestAction],
    node: Node,
    session: Session,
    command: RemotingCommand,
    header: AnyHeader | None,
) -> ActiveFault[RequestAction] | None:
    plan = node.faults
    if not plan.at(point):
        return None
    clients = {session.remote_addr, *node.client_ids(session)}
    return plan.choose(point, request_scope(node.name, command.code, header, command.body, clients))


def _hit(fault: ActiveFault[RequestAction], intercepted: Intercepted) -> None:
    on = f"{code_name(intercepted.command.code)} of {intercepted.session.remote_addr}"
    journal, outcome = intercepted.node.journal, intercepted.outcome
    with journal.because(fault.hit(intercepted.node.name, on)):
        if isinstance(outcome, Reply) and outcome.leaving and fault.action.withholds:
            journal.add(AnswerWithheld.of(outcome.leaving[0]))
        fault.action.apply(intercepted)


def _nothing() -> None:
    pass


def _no_answer(outcome: Outcome) -> None:
    pass


BEFORE_STORE.intercept = intercept_request
BEFORE_REPLY.intercept = intercept_answer
