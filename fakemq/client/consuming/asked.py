"""What brokers ask consumers for; a consumer answers what it has the method for.

A push consumer has all of them. Source: client/impl/ClientRemotingProcessor.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from fakemq.client.tasks import Task
from fakemq.protocol.bodies.consumer import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.message import MessageExt

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices


@runtime_checkable
class ResetsOffsets(Protocol):
    """A consumer whose offsets an admin tool can reset."""

    def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> Task[None]:
        """Continue at these offsets."""


@runtime_checkable
class KnowsOffsets(Protocol):
    """A consumer that knows how far it has got."""

    def consumed_offsets(self, topic: str) -> dict[MessageQueue, int]:
        """Return the offsets of a topic's queues."""


@runtime_checkable
class ReportsItself(Protocol):
    """A consumer of which an admin tool shows settings, queues and counters."""

    def running_info(self) -> Task[ConsumerRunningInfo]:
        """Return them."""


@runtime_checkable
class ConsumesDirectly(Protocol):
    """A consumer that an admin tool can have consume one message."""

    def consume_directly(
        self, stored: MessageExt, broker_name: str
    ) -> Task[ConsumeMessageDirectlyResult]:
        """Consume it now; return what the listener made of it."""


def consumer_of(services: ClientServices, group: str) -> object:
    """Return the group's consumer in this client, to be asked for what it has; None without one."""
    return services.consumers.get(group)
