"""What the parts of lite topics need of each other, and of their broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from fakemq.broker.tables.groups import SubscriptionGroupManager
    from fakemq.broker.tables.offsets import ConsumerOffsetManager
    from fakemq.broker.tables.topics import TopicConfigManager
    from fakemq.broker.v5.lite.settings import LiteGroups
    from fakemq.broker.v5.offsets import OffsetResets
    from fakemq.clock.node_clock import NodeClock
    from fakemq.config.model import BrokerConfig
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.journal.journal import Journal
    from fakemq.store.store import MessageStore


class LiteOwner(Protocol):
    """The broker of lite topics."""

    started_ms: int

    @property
    def name(self) -> str: ...
    @property
    def node(self) -> NodeContext[BrokerConfig]: ...
    @property
    def config(self) -> BrokerConfig: ...
    @property
    def clock(self) -> NodeClock: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def randomness(self) -> random.Random: ...
    @property
    def store(self) -> MessageStore: ...
    @property
    def topics(self) -> TopicConfigManager: ...
    @property
    def groups(self) -> SubscriptionGroupManager: ...
    @property
    def offsets(self) -> ConsumerOffsetManager: ...
    @property
    def offset_resets(self) -> OffsetResets: ...


class LiteTopics(Protocol):
    """The lite topics of one broker."""

    config: BrokerConfig5
    groups: LiteGroups

    def names(self) -> Iterable[str]:
        """Return the names of all light queues of lite topics."""

    def end_of(self, queue: str) -> int:
        """Return the offset behind the last message of a light queue; 0 without one."""

    def delete(self, queue: str, groups: Iterable[str]) -> None:
        """Delete a light queue, with what groups have consumed of it."""
