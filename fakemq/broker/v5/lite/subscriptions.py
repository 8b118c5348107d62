"""Which client subscribes to which lite topics of its group.

A client that says nothing for three minutes is forgotten.

Source: broker/lite/LiteSubscriptionRegistryImpl.java, common/lite/LiteSubscription.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from fakemq.dispatch.answers import Refused
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.v5.codes import ResponseCode5

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from fakemq.broker.v5.lite.settings import LiteGroups
    from fakemq.clock.slices import Steps
    from fakemq.net.session import Session
    from fakemq.protocol.v5.bodies.lite import OffsetOption

NULL_POINTER: Final = "java.lang.NullPointerException"
"""What Java says of an empty name of a lite topic."""
_QUOTA_EXCEPTION: Final = "org.apache.rocketmq.broker.lite.LiteQuotaException"


class Subscriber(NamedTuple):
    """A client as a member of one group."""

    client_id: str
    group: str


class LiteSubscription:
    """What one client subscribes to: light queues, or one name that stands for all."""

    __slots__ = ("group", "outside", "queues", "topic", "updated_ms")

    def __init__(self, group: str, topic: str) -> None:
        self.group = group
        self.topic = topic
        self.queues: dict[str, None] = {}
        self.outside = False
        self.updated_ms = 0
        """Elapsed time of the last change, on the axis of its client."""


class Follower(Protocol):
    """What happens with each change of a subscription."""

    def subscribed(self, subscriber: Subscriber, queue: str) -> None: ...

    def left(self, subscriber: Subscriber) -> Steps[None]: ...

    def deserted(self, queue: str) -> None:
        """Note that a light queue has no subscriber any more."""

    def excluded(self, subscriber: Subscriber, session: Session, queue: str) -> None:
        """Tell a client that a lite topic has another subscriber now."""

    def reset(self, subscriber: Subscriber, queue: str, option: OffsetOption | None) -> None:
        """Move the group in a queue where an option says; None says nothing."""

    def updated(self, subscription: LiteSubscription, session: Session | None) -> None:
        """Note the time of a change."""


class LiteRegistry:
    """The subscriptions of one broker, by client and by light queue."""

    def __init__(self, groups: LiteGroups, follower: Follower) -> None:
        self._groups = groups
        self._follower = follower
        self._by_client: dict[str, LiteSubscription] = {}
        self._by_queue: dict[str, dict[Subscriber, None]] = {}
        self._with_all: dict[str, set[str]] = {}
        """Parent topic → the groups with members that have all its lite topics."""
        self._sessions: dict[str, Session] = {}
        self._counts: dict[str, int] = {}
        """Client → of how many light queues it is a subscriber."""
        self.count = 0
        """How many lite topics all clients subscribe to; one of two clients counts twice."""

    # -- reading ------------------------------------------------------------------------------

    def find(self, client_id: str | None) -> LiteSubscription | None:
        return None if client_id is None else self._by_client.get(client_id)

    def session(self, client_id: str) -> Session | None:
        """Return the connection on which a client subscribed last."""
        return self._sessions.get(client_id)

    def clients_of(self, group: str) -> list[str]:
        """Return the ids of the clients of a group."""
        return [one for one, found in self._by_client.items() if found.group == group]

    def client_ids(self) -> list[str]:
        """Return the ids of all clients."""
        return list(self._by_client)

    def queues(self) -> list[str]:
        """Return the light queues that have subscribers, and the names that stand for all."""
        return list(self._by_queue)

    def parents_with_all(self) -> list[str]:
        """Return the parents all of whose lite topics some group has."""
        return list(self._with_all)

    def subscribers(self, topic: str | None, queue: str) -> Mapping[str, list[Subscriber]]:
        """Return the subscribers of a light queue, by group; ``topic`` is its parent."""
        found: dict[str, list[Subscriber]] = {}
        for one in self._by_queue.get(queue, ()):
            found.setdefault(one.group, []).append(one)
        for group in sorted(self._with_all.get(topic or "", ())):
            of_all = self.subscribers_of_all(topic or "", group)
            if of_all:
                found.setdefault(group, of_all)
        return found

    def subscribers_in(self, group: str, topic: str | None, queue: str) -> list[Subscriber]:
        """Return the subscribers of a light queue that belong to a group."""
        if self._groups.has_all(group):
            return self.subscribers_of_all(topic or "", group)
        return [one for one in self._by_queue.get(queue, ()) if one.group == group]

    def subscribers_of_all(self, topic: str, group: str) -> list[Subscriber]:
        """Return the members of a group that has all lite topics of a parent."""
        return list(self._by_queue.get(_all_of(topic, group), ()))

    # -- changing -----------------------------------------------------------------------------

    # Between two steps others change subscriptions, of the same client, too: each finds it anew.

    def add(
        self,
        client_id: str,
        group: str,
        topic: str,
        queues: Iterable[str],
        option: OffsetOption | None,
        most: int,
        session: Session,
    ) -> Steps[None]:
        """Add light queues; raise Refused beyond the quota, and for a group that has all.

        On its connection the client is notified something later.
        Where a lite topic has one subscriber in its group, it is taken from the others, and from
        this one, too, which Java notifies the same: Java forgets what a client has if nothing is
        left then.
        Source: LiteSubscriptionRegistryImpl.java#addPartialSubscription (5.5.0)
        """
        if self.count >= most:
            raise Refused(
                ResponseCode5.LITE_SUBSCRIPTION_QUOTA_EXCEEDED,
                f"{_QUOTA_EXCEPTION}: lite subscription quota exceeded {most}",
            )
        if self._groups.has_all(group):
            raise Refused(
                ResponseCode5.ILLEGAL_OPERATION,
                "java.lang.IllegalStateException:"
                " subscribe lite operation is not supported for this group",
            )
        self._sessions[client_id] = session
        of_group, forgotten = self._find_or_make(client_id, group, topic).group, False
        for queue in queues:
            if not forgotten:
                self._add_to(client_id, of_group, topic, queue)
            if self._groups.is_exclusive(group):
                self._exclude(group, queue, by=client_id)
                forgotten = forgotten or client_id not in self._by_client
            self._follower.reset(Subscriber(client_id, group), queue, option)
            self._register(Subscriber(client_id, of_group), queue)
            yield

    def remove(
        self, client_id: str, group: str, topic: str, queues: Iterable[str], session: Session
    ) -> Steps[None]:
        """Remove light queues. An unknown client is known then, but not notified of anything.

        Source: LiteSubscriptionRegistryImpl.java#removePartialSubscription (5.5.0)
        """
        of_group = self._find_or_make(client_id, group, topic, session).group
        for queue in queues:
            self._remove_from(client_id, queue)
            resets = self._groups.resets_when_unsubscribed(group)
            self._unregister(Subscriber(client_id, of_group), queue, resets=resets)
            yield

    def replace(
        self, client_id: str, group: str, topic: str, queues: Iterable[str], session: Session
    ) -> Steps[None]:
        """Let a client subscribe to exactly these; to all if that is what its group does.

        Source: LiteSubscriptionRegistryImpl.java#addCompleteSubscription (5.5.0)
        """
        wanted = dict.fromkeys(queues)
        if self._groups.has_all(group):
            wanted = {_all_of(topic, group): None}
        self._sessions[client_id] = session
        subscriber, others = self._others(client_id, group, topic, wanted)
        for queue in others:
            self._remove_from(client_id, queue)
            self._unregister(subscriber, queue)
            yield
        for queue in wanted:
            self._add_to(client_id, subscriber.group, topic, queue)
            self._register(subscriber, queue)
            self._find_all_of(topic, group)
            yield

    def _others(
        self, client_id: str, group: str, topic: str, wanted: Collection[str]
    ) -> tuple[Subscriber, list[str]]:
        """Return a client, and the light queues that it has beside these."""
        found = self._find_or_make(client_id, group, topic)
        others = [one for one in found.queues if one not in wanted]
        return Subscriber(client_id, found.group), others

    def remove_all(self, client_id: str) -> Steps[None]:
        """Forget a client.

        Source: LiteSubscriptionRegistryImpl.java#removeCompleteSubscription (5.5.0)
        """
        self._sessions.pop(client_id, None)
        found = self._by_client.pop(client_id, None)
        if found is None:
            return
        subscriber, queues = Subscriber(client_id, found.group), list(found.queues)
        for queue in queues:
            if not self._has(client_id, queue):  # it may have subscribed again
                self._unregister(subscriber, queue)
            yield
        yield from self._follower.left(subscriber)

    def take_away(self, group: str, queue: str) -> int:
        """Take a light queue from all clients of a group, and tell them; return how many had it."""
        count = len(self.subscribers_in(group, None, queue))
        self._exclude(group, queue)
        return count

    def queue_deleted(self, queue: str) -> None:
        """Remove a light queue from all subscriptions; no client is notified.

        Source: LiteSubscriptionRegistryImpl.java#cleanSubscription (5.5.0)
        """
        for one in self._by_queue.pop(queue, ()):
            found = self._by_client.get(one.client_id)
            if found is not None and queue in found.queues:
                self._remove_from(one.client_id, queue)
                self.count -= 1
            self._has_less(one.client_id)

    def clear(self) -> None:
        """Forget all clients."""
        self._by_client.clear()
        self._by_queue.clear()
        self._with_all.clear()
        self._sessions.clear()
        self._counts.clear()
        self.count = 0

    # -- inside -------------------------------------------------------------------------------

    def _exclude(self, group: str, queue: str, *, by: str | None = None) -> None:
        """Source: LiteSubscriptionRegistryImpl.java#excludeClientByLmqName (5.5.0)"""
        resets = self._groups.resets_when_excluded(group)
        for one in [one for one in self._by_queue.get(queue, ()) if one.group == group]:
            found = self._by_client.get(one.client_id)
            if found is not None:
                self._remove_from(one.client_id, queue)
                if not found.queues:
                    del self._by_client[one.client_id]
            session = self._sessions.get(one.client_id)
            if session is not None:
                self._follower.excluded(one, session, queue)
            self._unregister(one, queue, resets=resets, by=by)

    def _find_or_make(
        self, client_id: str, group: str, topic: str, session: Session | None = None
    ) -> LiteSubscription:
        found = self._by_client.get(client_id)
        if found is None:
            found = self._by_client[client_id] = LiteSubscription(group, topic)
            self._follower.updated(found, self._sessions.get(client_id, session))
        return found

    def _has(self, client_id: str, queue: str) -> bool:
        found = self._by_client.get(client_id)
        return found is not None and queue in found.queues

    def _add_to(self, client_id: str, group: str, topic: str, queue: str) -> None:
        if not queue:
            raise Refused(ResponseCode.SYSTEM_ERROR, NULL_POINTER)
        found = self._find_or_make(client_id, group, topic)
        found.queues[queue] = None
        self._updated(found, client_id)

    def _remove_from(self, client_id: str, queue: str) -> None:
        found = self._by_client.get(client_id)
        if found is not None:
            found.queues.pop(queue, None)
            self._updated(found, client_id)

    def _updated(self, found: LiteSubscription, client_id: str) -> None:
        self._follower.updated(found, self._sessions.get(client_id))

    def _register(self, subscriber: Subscriber, queue: str) -> None:
        of_queue = self._by_queue.setdefault(queue, {})
        if subscriber not in of_queue:
            of_queue[subscriber] = None
            self.count += 1
            self._counts[subscriber.client_id] = self._counts.get(subscriber.client_id, 0) + 1
            self._follower.subscribed(subscriber, queue)

    def _unregister(
        self, subscriber: Subscriber, queue: str, *, resets: bool = False, by: str | None = None
    ) -> None:
        """Remove a subscriber; ``by`` is a client that is about to be there instead."""
        of_queue = self._by_queue.get(queue)
        if of_queue is None:
            return
        if subscriber in of_queue:
            del of_queue[subscriber]
            self.count -= 1
            if subscriber.client_id == by:
                self._counts[subscriber.client_id] -= 1
            else:
                self._has_less(subscriber.client_id)
            if resets:
                from fakemq.protocol.v5.bodies.lite import FROM_MIN

                self._follower.reset(subscriber, queue, FROM_MIN)
        if not of_queue:
            self._by_queue.pop(queue, None)
            if by is None:
                self._follower.deserted(queue)
            for topic, group in self._topics_of_all(queue):
                self._find_all_of(topic, group)

    def _has_less(self, client_id: str) -> None:
        """Count a subscription less; forget the connection of a client that has none."""
        left = self._counts.get(client_id, 0) - 1
        if left > 0:
            self._counts[client_id] = left
            return
        self._counts.pop(client_id, None)
        if client_id not in self._by_client:
            self._sessions.pop(client_id, None)

    def _topics_of_all(self, queue: str) -> list[tuple[str, str]]:
        """Return the parent and the group of a name that stands for all."""
        parts = queue.split("@")
        pairs = (("@".join(parts[:at]), "@".join(parts[at:])) for at in range(1, len(parts)))
        return [one for one in pairs if one[1] in self._with_all.get(one[0], ())]

    def _find_all_of(self, topic: str, group: str) -> None:
        """Note whether members of a group have all lite topics of the parent to which it is bound.

        Source: LiteSubscriptionRegistryImpl.java#markWildcardGroup (5.5.0)
        """
        groups = self._with_all.get(topic, set())
        if _all_of(topic, group) in self._by_queue and self._groups.bound_topic(group) == topic:
            self._with_all.setdefault(topic, groups).add(group)
        elif group in groups:
            groups.remove(group)
            if not groups:
                del self._with_all[topic]


def _all_of(topic: str, group: str) -> str:
    """Return the name that stands for all lite topics of a parent, for a group that has them."""
    return f"{topic}@{group}"
