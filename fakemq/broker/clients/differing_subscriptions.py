"""Notices members of a group that subscribe to different things.

RocketMQ keeps one subscription for a whole group, that of the last heartbeat, and divides queues
among all members. So members with different ones take messages from each other, without an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.broker.clients.client_channel import ClientChannelInfo
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.heartbeat import SubscriptionData

MOST_NOTED = 1_000
"""How many differences of a group are noted at once: each heartbeat looks at all of them."""


class Difference(NamedTuple):
    """What one member wants of a topic, and another one; None is nothing."""

    topic: str
    client: ClientChannelInfo
    expression: str | None
    other: ClientChannelInfo
    other_expression: str | None

    def is_over(self, session: Session, said: str | None) -> bool:
        """Return whether one of the two is this member, and has said something else before."""
        return (self.client.session is session and self.expression != said) or (
            self.other.session is session and self.other_expression != said
        )


class DifferingSubscriptions:
    """What the members of one group have said of its present subscriptions."""

    def __init__(self) -> None:
        self._last: Session | None = None
        """The member whose heartbeat was the last: its topics are those of the group."""
        self._agrees: dict[str, Session] = {}
        """Topic → the last member that subscribed to it as the group does now."""
        self._noted: dict[tuple[Session, str], Difference] = {}
        """Member and topic → how it differs from another one."""

    def agrees(self, topic: str, session: Session) -> None:
        """Note that a member subscribes to a topic as the group does now."""
        self._agrees[topic] = session

    def forget_topic(self, topic: str) -> None:
        """Note that the group no longer subscribes to a topic."""
        self._agrees.pop(topic, None)

    def over(self, session: Session, subscriptions: Iterable[SubscriptionData]) -> list[Difference]:
        """Return the noted differences that a member's heartbeat ends; call it before `compare`."""
        if not self._noted:
            return []
        said = {one.topic: _expression(one) for one in subscriptions}
        ended = {
            key: one
            for key, one in self._noted.items()
            if one.is_over(session, said.get(one.topic))
        }
        for key in ended:
            del self._noted[key]
        return list(ended.values())

    def compare(
        self,
        session: Session,
        subscriptions: Iterable[SubscriptionData],
        present: Mapping[str, SubscriptionData],
        members: Mapping[Session, ClientChannelInfo],
    ) -> list[Difference]:
        """Return in what a member's heartbeat differs from the last ones of other members.

        Each difference is returned once, at most `MOST_NOTED` in all. ``present`` is what the group
        subscribed to before.
        """
        last, self._last = self._last, session
        if len(members) < 2:
            return []
        said = {one.topic: one for one in subscriptions if one.topic is not None}
        found = []
        for topic in said | dict(present):
            mine, theirs = _expression(said.get(topic)), _expression(present.get(topic))
            if mine == theirs or topic.startswith(RETRY_PREFIX):
                continue
            other = members.get((last if theirs is None else self._agrees.get(topic)) or session)
            if other is None or other.session is session:
                continue
            noted = self._noted.get((session, topic))
            if noted is None and len(self._noted) >= MOST_NOTED:
                continue
            # As many members may agree with the other one, any of them may be met next.
            if noted is None or noted.other_expression != theirs:
                one = Difference(topic, members[session], mine, other, theirs)
                self._noted[session, topic] = one
                found.append(one)
        return found

    def forget(self, session: Session) -> None:
        """Forget a member that has left."""
        self._noted = {
            key: one
            for key, one in self._noted.items()
            if session not in (one.client.session, one.other.session)
        }
        self._agrees = {topic: one for topic, one in self._agrees.items() if one is not session}
        if self._last is session:
            self._last = None

    def begin_anew(self) -> None:
        """Return each difference once more, because the journal begins anew."""
        self._noted.clear()


def _expression(subscription: SubscriptionData | None) -> str | None:
    return None if subscription is None else subscription.sub_string or ""
