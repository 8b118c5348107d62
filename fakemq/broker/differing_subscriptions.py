"""Notices members of a group that subscribe to different things.

RocketMQ keeps one subscription for a whole group, that of the last heartbeat, and divides queues
among all members. So members with different ones take messages from each other, without an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.broker.client_channel import ClientChannelInfo
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.heartbeat import SubscriptionData


class Difference(NamedTuple):
    """What one member wants of a topic, and another one; None is nothing."""

    topic: str
    expression: str | None
    other_client_id: str
    other_expression: str | None


class DifferingSubscriptions:
    """What the members of one group have said of its present subscriptions."""

    def __init__(self) -> None:
        self._last: Session | None = None
        """The member whose heartbeat was the last: its topics are those of the group."""
        self._agrees: dict[str, Session] = {}
        """Topic → the last member that subscribed to it as the group does now."""
        self._noted: dict[Session, dict[str, Difference]] = {}

    def agrees(self, topic: str, session: Session) -> None:
        """Note that a member subscribes to a topic as the group does now."""
        self._agrees[topic] = session

    def compare(
        self,
        session: Session,
        subscriptions: Iterable[SubscriptionData],
        present: Mapping[str, SubscriptionData],
        members: Mapping[Session, ClientChannelInfo],
    ) -> list[Difference]:
        """Return in what a member's heartbeat differs from the last ones of other members.

        Each difference is returned once. ``present`` is what the group subscribed to before.
        """
        last, self._last = self._last, session
        if len(members) < 2:
            return []
        said = {one.topic: one for one in subscriptions if one.topic is not None}
        noted = self._noted.setdefault(session, {})
        for topic in [topic for topic in noted if topic not in said and topic not in present]:
            del noted[topic]
        found = []
        for topic in said | dict(present):
            mine, theirs = said.get(topic), present.get(topic)
            both = mine is not None and theirs is not None
            other = members.get(self._agrees.get(topic, session) if both else last or session)
            if other is None or other.session is session or topic.startswith(RETRY_PREFIX):
                continue
            one = Difference(topic, _expression(mine), other.client_id, _expression(theirs))
            if one.expression != one.other_expression and noted.get(topic) != one:
                noted[topic] = one
                found.append(one)
        return found

    def forget(self, session: Session) -> None:
        """Forget a member that has left."""
        self._noted.pop(session, None)
        self._agrees = {topic: one for topic, one in self._agrees.items() if one is not session}
        if self._last is session:
            self._last = None

    def begin_anew(self) -> None:
        """Return each difference once more, because the journal begins anew."""
        self._noted.clear()


def _expression(subscription: SubscriptionData | None) -> str | None:
    return None if subscription is None else subscription.sub_string or ""
