"""Faults of requests: what befalls one before its handler, or its answer on the way out.

`Dispatcher` comes here only where a fault is placed at one of its points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fakemq.dispatch.answers import Refused, Reply
from fakemq.dispatch.dispatcher import BEFORE_REPLICATE, BEFORE_REPLY, BEFORE_STORE
from fakemq.events.core import NodeStopped
from fakemq.events.faults import AnswerWithheld
from fakemq.faults.request_scope import clients_of, happening
from fakemq.protocol.codes import RequestCode, code_name
from fakemq.protocol.errors import HeaderError

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Outcome
    from fakemq.dispatch.dispatcher import Dispatcher
    from fakemq.dispatch.node import Node
    from fakemq.faults.plan import Placed, Point, Scope
    from fakemq.journal.journal import Entry
    from fakemq.net.session import Session
    from fakemq.protocol.command import RemotingCommand
    from fakemq.protocol.header import Header

_NEEDS_ITS_CONNECTION = frozenset(
    {RequestCode.HEART_BEAT, RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE}
)
"""Handled late, they would have a client that is gone live on, or wait."""


class Met(NamedTuple):
    """A request, or its answer, that a fault has met."""

    node: Node
    session: Session
    command: RemotingCommand
    outcome: Outcome
    """The answer; None where there is none yet, too."""
    go_on: Callable[[], None]
    """Goes on with the request, or the answer, as if nothing had been."""
    answer: Callable[[Outcome], None]
    """Answers instead; None says nothing."""


class RequestFault:
    """What a fault does to what it meets."""

    @property
    def withholds(self) -> bool:
        """Whether an answer does not leave as it is, or not now."""
        return True

    def befall(self, met: Met) -> None:
        raise NotImplementedError


class Answer(RequestFault):
    """Another answer; what is None, or not among the fields, stays as it was."""

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

    def befall(self, met: Met) -> None:
        reply = _plain(met.outcome)
        if self.withholds:
            reply.leaving = None
        if self._code is not None:
            reply.code = self._code
        if self._remark is not None or self._code is not None:
            reply.remark = self._remark
        if self._body is not None:
            reply.body = self._body
        reply.ext_fields = {**(reply.ext_fields or {}), **self._fields}
        met.answer(reply)


def _plain(outcome: Outcome) -> Reply[Any]:
    """An answer that may be changed, with all its header's fields by name."""
    if outcome is None:
        return Reply()
    if isinstance(outcome, Refused):
        return Reply(code=outcome.code, remark=outcome.remark)
    from fakemq.broker.relay import PassedOn

    if isinstance(outcome, PassedOn):
        fields = dict(outcome.answer.ext_fields)
        return Reply(
            body=outcome.body, code=outcome.code, remark=outcome.answer.remark, ext_fields=fields
        )
    return msgspec.structs.replace(outcome)


class Delay(RequestFault):
    """It goes on ``ms`` later, by the cluster's clock."""

    def __init__(self, ms: int) -> None:
        self._ms = ms

    def befall(self, met: Met) -> None:
        go_on = keeping(met)
        met.node.clock.call_later(self._ms, go_on, kind="late_by_fault")


class Drop(RequestFault):
    """Nothing more becomes of it."""

    def befall(self, met: Met) -> None:
        met.answer(None)


class Close(RequestFault):
    """Nothing more becomes of it, and its connection is closed."""

    def befall(self, met: Met) -> None:
        met.answer(None)
        met.session.close("a fault")


class Kill(RequestFault):
    """The node dies on the spot; ``kill`` is given its name."""

    def __init__(self, kill: Callable[[str], None]) -> None:
        self._kill = kill

    def befall(self, met: Met) -> None:
        self._kill(met.node.name)


class Pause(RequestFault):
    """The node stands still with it, and goes on with it; ``pause`` is given the node's name."""

    def __init__(self, pause: Callable[[str], None]) -> None:
        self._pause = pause

    def befall(self, met: Met) -> None:
        go_on, name = keeping(met), met.node.name
        self._pause(name)

        def hear(entry: Entry) -> None:
            if entry.event.node == name:
                unlisten()
                if isinstance(entry.event, NodeStopped) and entry.event.how == "resume":
                    go_on()

        unlisten = met.node.journal.listen(hear, NodeStopped)


class Park(RequestFault):
    """It waits until it is let through."""

    def __init__(self) -> None:
        self._waiting: list[Kept] = []

    @property
    def waiting(self) -> int:
        """How much waits."""
        self._waiting = [kept for kept in self._waiting if not kept.gone]
        return len(self._waiting)

    def befall(self, met: Met) -> None:
        self._waiting.append(keeping(met))

    def release(self) -> int:
        """Let all that waits through, oldest first; gives how much that was."""
        count = self.waiting
        waiting, self._waiting = self._waiting, []
        for kept in waiting:
            clock = kept.node.clock
            if clock.paused:  # it is with the node when that goes on
                clock.call_later(0, kept, kind="late_by_fault")
            else:
                kept()
        return count

    def end(self) -> None:
        """As `release`."""
        self.release()


class Kept:
    """A request, or its answer, that goes on when it is called: what is kept counts to its peer.

    It is gone with the node that has it, and so is one of a node that has been stopped or killed
    since: of its connections nothing is left. A client's is handled though that has gone, as it
    would be if it stood in a queue. What was ``answered`` is of its sender no more.
    """

    def __init__(self, met: Met, kept_bytes: int, answered: bool) -> None:
        self.gone = False
        self.node = met.node
        self._met = met
        self._kept_bytes = kept_bytes
        self._owed = met.node.journal.resume()
        sender = None if answered else getattr(met.session.link, "remote_node", None)
        self._nodes = {met.node.name, sender}
        self._unlisten = met.node.journal.listen(self._stopped, NodeStopped)
        met.session.parked_bytes += kept_bytes

    def __call__(self) -> None:
        if self.gone:
            return
        self._end()
        met = self._met
        if met.session.closed and met.command.code in _NEEDS_ITS_CONNECTION:
            return
        with self._owed():
            met.go_on()

    def _end(self) -> None:
        self.gone = True
        self._unlisten()
        self._met.session.parked_bytes -= self._kept_bytes

    def _stopped(self, entry: Entry) -> None:
        event = entry.event
        is_end = isinstance(event, NodeStopped) and event.how in ("stop", "kill")
        if is_end and event.node in self._nodes and not self.gone:
            self._end()


def keeping(met: Met, *, answered: bool = False) -> Kept:
    """Keep what was met, to go on with it later; it is owed to what it is owed to now."""
    command, outcome = met.command, met.outcome
    kept_bytes = len(command.body) + sum(map(len, command.ext_fields.values()))
    if isinstance(outcome, Reply) and not isinstance(outcome.body, bytes):
        outcome.body = b"".join(outcome.body)  # they are slices of what changes
    if isinstance(outcome, Reply):
        kept_bytes += len(outcome.body)
    return Kept(met, kept_bytes, answered)


# -- where they are met -----------------------------------------------------------------------


def meet_request(dispatcher: Dispatcher[Any], session: Session, command: RemotingCommand) -> bool:
    """Whether a fault takes a request that has come; then that has happened."""
    node: Node = dispatcher.node
    try:
        header = dispatcher.header_of(command)
    except HeaderError:  # its handler will say so
        header = None
    placed = _chosen(BEFORE_STORE, node, session, command, header)
    if placed is None:
        return False
    met = Met(
        node,
        session,
        command,
        None,
        lambda: dispatcher.handle(session, command),
        lambda outcome: dispatcher.send_answer(session, command, outcome),
    )
    _hit(placed, met)
    return True


def meet_answer(
    dispatcher: Dispatcher[Any],
    session: Session,
    command: RemotingCommand,
    header: Header | None,
    outcome: Outcome,
) -> None:
    """Send an answer, unless a fault takes it; then see what one does once it was sent."""
    node: Node = dispatcher.node

    def answer(outcome: Outcome) -> None:
        if isinstance(outcome, Reply) and outcome.leaving is not None:
            node.journal.add(outcome.leaving[0])
        dispatcher.send_answer(session, command, outcome)
        if outcome is None or not _replicates_later(node):
            return
        placed = _chosen(BEFORE_REPLICATE, node, session, command, header)
        if placed is not None:
            _hit(placed, Met(node, session, command, outcome, _nothing, _say_nothing))

    placed = _chosen(BEFORE_REPLY, node, session, command, header)
    if placed is None:
        if isinstance(outcome, Reply) and outcome.leaving is not None:
            (event, cause), outcome.leaving = outcome.leaving, None
            with node.journal.because(cause):
                node.journal.add(event)
        answer(outcome)
    else:
        _hit(placed, Met(node, session, command, outcome, lambda: answer(outcome), answer))


def _chosen(
    point: Point[RequestFault],
    node: Node,
    session: Session,
    command: RemotingCommand,
    header: Header | None,
) -> Placed[RequestFault] | None:
    plan = node.faults
    if not plan.at(point):
        return None
    clients = clients_of(node, session)
    what: Scope = happening(node.name, command.code, header, command.body, clients)
    return plan.choose(point, what)


def _hit(placed: Placed[RequestFault], met: Met) -> None:
    on = f"{code_name(met.command.code)} of {met.session.remote_addr}"
    journal, outcome = met.node.journal, met.outcome
    with journal.because(placed.hit(met.node.name, on)):
        if isinstance(outcome, Reply) and outcome.leaving and placed.action.withholds:
            journal.add(AnswerWithheld.of(outcome.leaving[0]))
        placed.action.befall(met)


def _replicates_later(node: Node) -> bool:
    """Whether a node's answers leave before its slaves have what they are about."""
    from fakemq.broker.broker import Broker

    return isinstance(node, Broker) and node.config.broker_role == "ASYNC_MASTER"


def _nothing() -> None:
    pass


def _say_nothing(outcome: Outcome) -> None:
    pass
