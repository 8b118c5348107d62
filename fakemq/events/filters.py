"""Kinds of events of filters: which messages an answer leaves out, and which its client drops."""

from __future__ import annotations

from fakemq.events.core import Event


class PassedOver(Event, frozen=True, kw_only=True, gc=False):
    """A pull or a pop went past messages that the filter of its group does not match.

    It began at ``queue_offset`` and continues at ``next_offset``. ``count`` messages in between are
    not in its answer: all that the event `Delivered` of the same cause does not have.
    """

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    next_offset: int
    count: int
    expression: str
    """What the group subscribes to, as it says it."""
    peer: str


class TagCollided(Event, frozen=True, kw_only=True, gc=False):
    """An answer has a message whose tag its group does not subscribe to: its client drops it.

    Brokers compare hashes of tags only; that of ``tag`` is the same as that of a subscribed one.
    The event `Delivered` of the same cause has the message, too.
    """

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    tag: str
    """The message's; "" for a message without."""
    same_as: str
    """The subscribed tag with the same hash; "" if the broker did not know the message's hash."""
    expression: str
    """What the group subscribes to, as it says it."""
    peer: str
