"""A broker, as the parts of its acting mastership see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fakemq.broker.pulling.holds import PullRequestHoldService
    from fakemq.broker.registration import Registration
    from fakemq.broker.role import Role
    from fakemq.broker.tables.offsets import ConsumerOffsetManager
    from fakemq.broker.tables.topics import TopicConfigManager
    from fakemq.broker.v5.slave_tables import SlaveTables, TableVersions
    from fakemq.dispatch.node import NodeState
    from fakemq.ha.v5.service import HAService5
    from fakemq.net.outbound import Outbound
    from fakemq.protocol.bodies.offset import DelayOffsetSerializeWrapper


class ActingBroker(Protocol):
    """A broker that may act as master, or whose slaves may."""

    @property
    def state(self) -> NodeState: ...
    @property
    def addr(self) -> str: ...
    @property
    def ha_addr(self) -> str: ...
    @property
    def role(self) -> Role: ...
    @property
    def topics(self) -> TopicConfigManager: ...
    @property
    def offsets(self) -> ConsumerOffsetManager: ...
    @property
    def holds(self) -> PullRequestHoldService: ...
    @property
    def registration(self) -> Registration: ...
    @property
    def outbound(self) -> Outbound: ...
    @property
    def versions(self) -> TableVersions: ...
    @property
    def slave_tables(self) -> SlaveTables: ...
    @property
    def counting(self) -> HAService5:
        """Its replication."""

    @property
    def init_max_offset(self) -> int:
        """Where its log ended at the start."""

    def register_all(self) -> None: ...
    def keep_delays(self, wrapper: DelayOffsetSerializeWrapper, text: str, /) -> None: ...
