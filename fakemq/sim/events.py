"""Journal events of a simulation's clients and faults; all others are in `fakemq.events`."""

from __future__ import annotations

from msgspec.structs import asdict

from fakemq.events.core import Event


class Sent(Event, frozen=True, kw_only=True, gc=False):
    """A producer received where its message is stored; ``status`` is the name of a `SendStatus`.

    ``key`` identifies the message in all events. ``shard`` is its sharding key, "" if it is not
    ordered, and ``number`` its place among the messages of the shard.
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
    """A send failed: the message is not stored, or the producer cannot know whether it is."""

    topic: str
    key: str
    error: str


class Decided(Event, frozen=True, kw_only=True, gc=False):
    """A producer decided on its half message: ``how`` is commit or rollback."""

    topic: str
    key: str
    how: str


class Received(Event, frozen=True, kw_only=True, gc=False):
    """A consumer began to process a message.

    ``topic`` is the topic of the queue, which may be the group's retry topic.
    """

    group: str
    topic: str
    key: str
    msg_id: str
    broker: str
    queue_id: int
    queue_offset: int
    times: int
    """How often it was tried before."""


class Consumed(Event, frozen=True, kw_only=True, gc=False):
    """A consumer processed a message; if not ``well``, the message is sent back, or tried again.

    A message that takes no time has no event of its beginning.
    """

    group: str
    topic: str
    key: str
    msg_id: str
    broker: str
    queue_id: int
    queue_offset: int
    times: int
    well: bool

    @classmethod
    def of(cls, received: Received, well: bool) -> Consumed:
        """Return the end of a beginning."""
        return cls(**asdict(received), well=well)


class RecallEnded(Event, frozen=True, kw_only=True, gc=False):
    """A producer asked a broker not to deliver a timer message.

    ``phy_offset`` is that of the message in the timer topic. If not ``well``, the broker refused,
    or the producer cannot know what it did.
    """

    topic: str
    key: str
    msg_id: str
    broker: str
    phy_offset: int
    well: bool


class FaultBegan(Event, frozen=True, kw_only=True, gc=False):
    """A planned fault began at ``target``."""

    fault: str
    target: str


class FaultEnded(Event, frozen=True, kw_only=True, gc=False):
    """A planned fault ended, and its effect was undone."""

    fault: str
    target: str


class Quiet(Event, frozen=True, kw_only=True, gc=False):
    """All producers have stopped and all faults have ended; open deliveries have time to finish."""


class Probed(Event, frozen=True, kw_only=True, gc=False):
    """A message was sent to a group while nothing disturbed it: ``status`` should be SEND_OK.

    Otherwise it is another `SendStatus`, or the error of the send.
    """

    key: str
    broker: str
    status: str
