"""The clients of each consumer group, and what the group subscribes to.

Source: broker/client/ConsumerManager.java, ConsumerGroupInfo.java,
DefaultConsumerIdsChangeListener.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from fakemq.broker.clients.client_channel import ClientChannelInfo, Memberships
from fakemq.clock.slices import A_STEP, leaving
from fakemq.dispatch.outcomes import required
from fakemq.events.core import DifferenceEnded, SubscriptionsDiffer
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.heartbeat import ConsumerData, SubscriptionData

BROADCASTING: Final = "BROADCASTING"
"""The message model of a group each of whose members gets every message."""


class Filters(Protocol):
    """What is made of the expressions of consumers: a broker's `ConsumerFilterManager`."""

    def register(self, group: str, subscriptions: Collection[SubscriptionData]) -> Steps[None]:
        """Take what a group subscribes to now."""

    def unregister(self, group: str) -> None:
        """Take note that a group has no members any more."""


class ConsumerGroupInfo:
    """One consumer group with at least one member.

    The last heartbeat of any member sets the properties of the whole group, as in Java.
    """

    def __init__(self, group: str, data: ConsumerData) -> None:
        from fakemq.broker.clients.differing_subscriptions import (
            DifferingSubscriptions,  # a start has none
        )

        self.group = group
        self.channels: dict[Session, ClientChannelInfo] = {}
        self.subscriptions: dict[str, SubscriptionData] = {}
        self.differing = DifferingSubscriptions()
        self._take(data)

    def _take(self, data: ConsumerData) -> None:
        self.consume_type = data.consume_type
        self.message_model = data.message_model
        self.consume_from_where = data.consume_from_where

    def update_channel(
        self, channel: ClientChannelInfo, data: ConsumerData, memberships: Memberships
    ) -> bool:
        """Take over a member's heartbeat; return whether the member is new.

        Source: broker/client/ConsumerGroupInfo.java#updateChannel (4.9.7)
        """
        self._take(data)
        present = self.channels.get(channel.session)
        if present is not None and present.client_id == channel.client_id:
            memberships.refresh(present)
            return False
        if present is not None:
            memberships.remove(self.group, present)
        self.channels[channel.session] = channel
        memberships.add(self.group, channel)
        return present is None

    def update_subscriptions(
        self, session: Session, subscriptions: Iterable[SubscriptionData]
    ) -> bool:
        """Take over a member's subscriptions; return whether a topic was added or removed.

        A newer version of a known topic's subscription replaces it, and does not count as a change.
        An older version is ignored.

        Source: broker/client/ConsumerGroupInfo.java#updateSubscription (4.9.7)
        """
        before = set(self.subscriptions)
        named = set()
        for subscription in subscriptions:
            topic = required(subscription.topic, "SubscriptionData", "topic")
            named.add(topic)
            present = self.subscriptions.get(topic)
            if present is None or subscription.sub_version > present.sub_version:
                present = self.subscriptions[topic] = subscription
            if present.sub_string == subscription.sub_string:
                self.differing.agrees(topic, session)
        for topic in before - named:
            del self.subscriptions[topic]
            self.differing.forget_topic(topic)
        return named != before

    def __repr__(self) -> str:
        return (
            f"<consumer group {self.group}: {len(self.channels)} members,"
            f" topics {', '.join(self.subscriptions)}>"
        )


class ConsumerManager:
    """The consumer groups of one broker, by name; groups without members are not listed."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        filters: Filters,
        *,
        send_oneway: Callable[[Session, RemotingCommand], None],
        find_read: Callable[[str, str], SubscriptionData | None],
    ) -> None:
        self._node = node
        self._filters = filters
        self._send_oneway = send_oneway
        """Sends a client a request without an answer."""
        self._find_read = find_read
        """Finds what a group reads of a topic without a heartbeat."""
        self._table: dict[str, ConsumerGroupInfo] = {}
        self._memberships = Memberships()

    # -- members come and go ------------------------------------------------------------------

    @property
    def expired_timeout_ms(self) -> int:
        """How long a member may be silent."""
        return self._node.config.channel_expired_timeout

    def register(
        self, group: str, channel: ClientChannelInfo, data: ConsumerData, notify: bool
    ) -> Steps[bool]:
        """Add or refresh a member; return whether the group's members or topics changed.

        With ``notify`` every member is notified of a change before this returns.

        Source: broker/client/ConsumerManager.java#registerConsumer (4.9.7)
        """
        info = self._table.get(group)
        if info is None:
            info = self._table[group] = ConsumerGroupInfo(group, data)
        joined = info.update_channel(channel, data, self._memberships)
        if joined:
            self._changed(group, channel, "registered")
        self._note_differences(info, channel, data.subscription_data_set)
        changed = info.update_subscriptions(channel.session, data.subscription_data_set) or joined
        if changed and notify:
            yield from self._notify(info)
        yield
        yield from self._filters.register(group, data.subscription_data_set)
        return changed

    def unregister(self, group: str, session: Session, notify: bool) -> Steps[None]:
        """Remove a client from a group, at its own request.

        With ``notify`` the other members are notified, even if the client was no member. If a
        member then closes its connection at once, the others are still notified.

        Source: broker/client/ConsumerManager.java#unregisterConsumer (4.9.7)
        """
        info = self._table.get(group)
        if info is not None:
            was_member = session in info.channels
            self._remove(info, session, "unregistered")
            if notify and was_member:
                self._node.clock.carry_out(self._notify(info), peer=leaving(session))
            elif notify:  # as work of the session, which bounds how much a stranger causes
                yield from self._notify(info)

    def session_closed(self, session: Session) -> None:
        """Remove the members of a closed connection, and notify the other members.

        Source: broker/client/ConsumerManager.java#doChannelCloseEvent (4.9.7)
        """
        if self._memberships.first(session) is not None:
            self._node.clock.carry_out(self._leave_all(session), peer=leaving(session))

    def _leave_all(self, session: Session) -> Steps[None]:
        while (first := self._memberships.first(session)) is not None:
            info = self._table[first[0]]
            self._remove(info, session, "closed")
            yield from self._notify(info)
            yield

    def expire(self, session: Session) -> Steps[bool]:
        """Remove the members that were silent too long; return whether there was any.

        Other members are not notified.

        Source: broker/client/ConsumerManager.java#scanNotActiveChannel (4.9.7)
        """
        found = False
        while (first := self._memberships.first(session)) is not None:
            group, channel = first
            if not channel.is_silent(self.expired_timeout_ms):
                break
            self._remove(self._table[group], session, "expired")
            found = True
            yield
        return found

    def reset(self) -> None:
        """Forget the members whose connections are closed; other members are not notified."""
        for info in self._table.values():
            info.differing.begin_anew()
        for session in self._memberships.sessions():
            while session.closed and (first := self._memberships.first(session)) is not None:
                group, channel = first
                self._memberships.remove(group, channel)
                info = self._table[group]
                del info.channels[session]
                info.differing.forget(session)
                if not info.channels:
                    del self._table[group]

    # -- reading ------------------------------------------------------------------------------

    def group(self, name: str) -> ConsumerGroupInfo | None:
        """Return a group; None if it has no members."""
        return self._table.get(name)

    def subscriptions(self, group: str) -> Mapping[str, SubscriptionData] | None:
        """Return what a group subscribes to, by topic; None for a group without members."""
        info = self._table.get(group)
        return None if info is None else info.subscriptions

    def find_subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """Return what a group subscribes to in a topic.

        Source: ConsumerManager.java#findSubscriptionData (4.9.7)
        """
        info = self._table.get(group)
        found = None if info is None else info.subscriptions.get(topic)
        return self._find_read(group, topic) if found is None else found

    def find_channel(self, group: str, client_id: str) -> ClientChannelInfo | None:
        """Return a member by its client id. Source: ConsumerManager.java#findChannel (4.9.7)"""
        info = self._table.get(group)
        if info is None:
            return None
        return next((c for c in info.channels.values() if c.client_id == client_id), None)

    def channels_of(self, session: Session) -> Collection[ClientChannelInfo]:
        """Return the clients of one connection, the one that is silent longest first."""
        return self._memberships.channels(session)

    def groups_of_topic(self, topic: str) -> Steps[list[str]]:
        """Return the groups that subscribe to a topic now.

        Source: broker/client/ConsumerManager.java#queryTopicConsumeByWho (4.9.7)
        """
        found = []
        for number, (name, info) in enumerate(list(self._table.items()), 1):
            if topic in info.subscriptions:
                found.append(name)
            if not number % A_STEP:
                yield
        return found

    def names(self) -> Collection[str]:
        """Return the groups with members."""
        return list(self._table)

    def members(self, group: str) -> tuple[ClientChannelInfo, ...]:
        """Return the members that a group has now, the oldest first; () for an unknown group."""
        info = self._table.get(group)
        return () if info is None else tuple(info.channels.values())

    def snapshot(self) -> Mapping[str, tuple[ClientChannelInfo, ...]]:
        """Return the members that every group has now; read-only."""
        return MappingProxyType({name: self.members(name) for name in self._table})

    # -- inside -------------------------------------------------------------------------------

    def _remove(self, info: ConsumerGroupInfo, session: Session, how: str) -> None:
        channel = info.channels.pop(session, None)
        if channel is not None:
            info.differing.forget(session)
            self._memberships.remove(info.group, channel)
            self._changed(info.group, channel, how)
        if not info.channels:
            self._table.pop(info.group, None)
            if how != "expired":  # Java's scan does not notify the filters
                self._filters.unregister(info.group)

    def _note_differences(
        self,
        info: ConsumerGroupInfo,
        channel: ClientChannelInfo,
        subscriptions: Iterable[SubscriptionData],
    ) -> None:
        session, journal = channel.session, self._node.journal
        for one in info.differing.over(session, subscriptions):
            journal.add(
                DifferenceEnded(
                    node=self._node.name,
                    group=info.group,
                    topic=one.topic,
                    client_id=one.client.client_id,
                    other_client_id=one.other.client_id,
                )
            )
        for one in info.differing.compare(
            session, subscriptions, info.subscriptions, info.channels
        ):
            journal.add(
                SubscriptionsDiffer(
                    node=self._node.name,
                    group=info.group,
                    topic=one.topic,
                    client_id=one.client.client_id,
                    expression=one.expression,
                    other_client_id=one.other.client_id,
                    other_expression=one.other_expression,
                )
            )

    def _notify(self, info: ConsumerGroupInfo) -> Steps[None]:
        node = self._node
        if not node.config.notify_consumer_ids_changed_enable:
            return
        if info.message_model == BROADCASTING and not node.reference.notifies_broadcasting:
            return
        # A start has no consumer yet.
        from fakemq.protocol.headers.client import NotifyConsumerIdsChangedRequestHeader

        fields = NotifyConsumerIdsChangedRequestHeader(consumer_group=info.group).encode()
        for session in list(info.channels):
            command = RemotingCommand(
                RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, ext_fields=dict(fields)
            )
            self._send_oneway(session, command)
            yield

    def _changed(self, group: str, channel: ClientChannelInfo, how: str) -> None:
        self._node.journal.add(channel.changed(self._node.name, "consumer", group, how))
