"""A broker, as replication sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeState
    from fakemq.faults.plan import FaultPlan
    from fakemq.journal.journal import Journal
    from fakemq.net.outbound import Outbound
    from fakemq.protocol.bodies.group import SubscriptionGroupWrapper
    from fakemq.protocol.bodies.offset import (
        ConsumerOffsetSerializeWrapper,
        DelayOffsetSerializeWrapper,
    )
    from fakemq.protocol.bodies.topic import DataVersion, TopicConfigSerializeWrapper
    from fakemq.reference import Reference
    from fakemq.store.store import MessageStore


class ReplicatedNode(Protocol):
    """The node of an end, as both ends use it."""

    @property
    def name(self) -> str: ...
    @property
    def clock(self) -> NodeClock: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def config(self) -> BrokerConfig: ...
    @property
    def faults(self) -> FaultPlan: ...
    @property
    def state(self) -> NodeState: ...
    @property
    def store(self) -> MessageStore: ...
    @property
    def outbound(self) -> Outbound: ...


class TopicTable(Protocol):
    """The topics of a slave."""

    @property
    def data_version(self) -> DataVersion: ...
    def replace(self, wrapper: TopicConfigSerializeWrapper, /) -> Steps[None]: ...


class GroupTable(Protocol):
    """The subscription groups of a slave."""

    @property
    def data_version(self) -> DataVersion: ...
    def replace(self, wrapper: SubscriptionGroupWrapper, /) -> Steps[None]: ...


class OffsetTable(Protocol):
    """The consumer offsets of a slave."""

    def put_all(self, wrapper: ConsumerOffsetSerializeWrapper, /) -> Steps[None]: ...


class Tables(Protocol):
    """The tables that a slave copies from its master."""

    @property
    def topics(self) -> TopicTable: ...
    @property
    def groups(self) -> GroupTable: ...
    @property
    def offsets(self) -> OffsetTable: ...
    def keep_delays(self, wrapper: DelayOffsetSerializeWrapper, text: str, /) -> None:
        """Keep the master's delay offsets, for the time when this broker becomes a master.

        ``text`` is written unchanged to the file of the delay offsets.
        """


class ReplicatedBroker(ReplicatedNode, Tables, Protocol):
    """A broker as replication uses it: the node and its tables."""

    @property
    def reference(self) -> Reference: ...
    @property
    def addr(self) -> str:
        """``host:port`` of the main port."""
