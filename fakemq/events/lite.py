"""Kinds of events of lite topics, of RocketMQ 5.5.0."""

from __future__ import annotations

from fakemq.events.core import Event


class LiteSubscribed(Event, frozen=True, kw_only=True, gc=False):
    """A client subscribed to a lite topic at a broker, or to all of a parent."""

    group: str
    queue: str
    """The light queue of the lite topic; ``topic@group`` for all lite topics."""
    client_id: str


class LiteUnsubscribed(Event, frozen=True, kw_only=True, gc=False):
    """A client was notified that another client of its group has its lite topic now.

    A test that takes it away causes the same; other ends of subscriptions write nothing.
    """

    group: str
    queue: str
    client_id: str


class LiteTopicExpired(Event, frozen=True, kw_only=True, gc=False):
    """A lite topic was deleted, because it had no message for longer than its parent allows."""

    topic: str
    """The parent."""
    lite_topic: str
    queue: str
    """Its light queue."""
    idle_ms: int
