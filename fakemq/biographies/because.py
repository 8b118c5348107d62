"""The step of a journal entry, and its reason as text: an action of the test, or a fault that the
test placed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from fakemq.biographies.steps import ONE_WAY, Step
from fakemq.dispatch.node import NodeState
from fakemq.events.core import ClockMoved, ClockSkewed, Dispatched, Event, NodeStarted, NodeStopped
from fakemq.events.faults import FaultHit
from fakemq.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.broker.broker import Broker
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.entries import Entry
    from fakemq.journal.journal import Journal

StepT = TypeVar("StepT", bound=Step)
_DONE = {"stop": "stopped", "kill": "killed", "pause": "paused", "resume": "resumed"}
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))


def step_of(kind: type[StepT], entry: Entry, reason: str, /, **fields: Any) -> StepT:
    """Return the step of an entry. A field that is not given is that of the event by its name."""
    event = entry.event
    same = {
        name: getattr(event, name)
        for name in kind.__struct_fields__
        if name in event.__struct_fields__
    }
    return kind(**same | {"seq": entry.seq, "at_ms": entry.at_ms, "because": reason} | fields)


def because(journal: Journal, chronicle: Chronicle, entry: Entry) -> str:
    """Return the reason of an entry as text: a fault that acted, or the nearest named cause.

    Faults come first; "" if there is neither. Example: ``"after clock advanced 10s"``.
    """
    hits = chronicle.hits.get(entry.cause, ()) if entry.cause else ()
    if isinstance(entry.event, Dispatched):
        # A fault that acts after the dispatch belongs to the answer to the producer, not to this.
        hits = [hit for hit in hits if hit.seq < entry.seq]
    texts = [named(hit.event) for hit in hits]
    texts += filter(None, (named(cause.event) for cause in journal.cause_chain(entry)))
    return texts[0] if texts else ""


def named(event: Event) -> str:
    """Return the text of an event that a test causes directly; "" for any other event."""
    if isinstance(event, FaultHit):
        return f"fault {event.fault} {event.what}"
    if isinstance(event, ClockMoved):
        moved = {"advance": "advanced", "jump": "jumped"}.get(event.how)
        done = event.how if moved is None else f"{moved} {duration_text(event.by_ms)}"
        return f"after clock {done}"
    if isinstance(event, ClockSkewed):
        return f"after the clock of {event.node} was set {_ahead(event.skew_ms)}"
    if isinstance(event, NodeStopped):
        return f"after {event.node} {_DONE.get(event.how, event.how)}"
    return f"after {event.node} started" if isinstance(event, NodeStarted) else ""


def _ahead(skew_ms: int) -> str:
    if not skew_ms:
        return "right"
    return f"{duration_text(abs(skew_ms))} {'ahead' if skew_ms > 0 else 'behind'}"


def missing(core: ClusterCore, slave: Broker) -> str:
    """Return why a slave lacks records: a fault, or the slave's state; "" if it is only late."""
    for placed in core.faults.all():
        if placed.placed and placed.fired and placed.scope.concerns(slave.name):
            return f"fault {placed.number} {placed.what}"
    return "" if slave.state is NodeState.RUNNING else f"{slave.name} is {slave.state}"


def answer_text(code: int) -> str:
    """Return the text of a response code to a send: SEND_OK, or the name of another code."""
    if code == ResponseCode.SUCCESS:
        return "SEND_OK"
    return ResponseCode(code).name if code in ResponseCode.__members__.values() else str(code)


def sent_answer(chronicle: Chronicle, entry: Entry) -> str:
    """Return the text of the answer to the send that stored a record.

    "" if it has none; `ONE_WAY` if it gets none.
    """
    if entry.cause not in chronicle.answers:
        return ""
    code = chronicle.answers[entry.cause]
    return ONE_WAY if code is None else answer_text(code)


def duration_text(ms: int) -> str:
    """Return a duration in its two largest units, such as ``1m 30s``."""
    parts = []
    left_ms = abs(ms)
    for unit, unit_ms in _UNITS:
        number, left_ms = divmod(left_ms, unit_ms)
        if number:
            parts.append(f"{number}{unit}")
    return ("-" if ms < 0 else "") + (" ".join(parts[:2]) or "0s")


def due_text(left_ms: int) -> str:
    """Return when something is due, as "due in 10s"."""
    return f"due in {duration_text(left_ms)}" if left_ms > 0 else "due now"


def times_text(number: int) -> str:
    """Return how often something happened, as "twice"."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")
