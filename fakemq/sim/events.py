"""What the journal says of a simulation's clients and faults; all else is in `fakemq.events`."""

from __future__ import annotations

from fakemq.events.core import Event


class Sent(Event, frozen=True, kw_only=True, gc=False):
    """A producer heard where its message is; ``status`` is the name of a `SendStatus`.

    ``key`` names the message in all that is said of it; ``shard`` is that by which it is ordered,
    "" if by none, and ``number`` its place among those of its shard.
    """

    topic: str
    key: str
    msg_id: str
    broker: str
    queue_id: int
    queue_offset: int
    phy_offset: int
    status: str
    shard: str = ""
    number: int = 0


class SendFailed(Event, frozen=True, kw_only=True, gc=False):
    """A producer does not know what became of its message, or knows that nothing did."""

    topic: str
    key: str
    error: str


class Decided(Event, frozen=True, kw_only=True, gc=False):
    """A producer knows what becomes of its half message: ``how`` is commit or rollback."""

    topic: str
    key: str
    how: str


class Consumed(Event, frozen=True, kw_only=True, gc=False):
    """A consumer is done with a message; if not ``well``, it wants to have it again later.

    ``topic`` is that of the queue, which may be the group's retry topic.
    """

    group: str
    topic: str
    key: str
    msg_id: str
    broker: str
    queue_id: int
    queue_offset: int
    times: int
    """How often it was sent back before."""
    well: bool


class FaultBegan(Event, frozen=True, kw_only=True, gc=False):
    """A fault of the plan has come over ``target``."""

    fault: str
    target: str


class FaultEnded(Event, frozen=True, kw_only=True, gc=False):
    """A fault is over, and what it did is undone."""

    fault: str
    target: str


class Quiet(Event, frozen=True, kw_only=True, gc=False):
    """Producers have sent their last, all faults are over: what is on its way has time now."""
