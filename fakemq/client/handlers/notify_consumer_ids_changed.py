"""NOTIFY_CONSUMER_IDS_CHANGED (40): a group has got or lost a member.

Behaviour: all consumers of this client divide their queues anew, at once.

Source: client/impl/ClientRemotingProcessor.java#notifyConsumerIdsChanged (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.tasks import Task

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices
    from fakemq.protocol.command import RemotingCommand


def notify_consumer_ids_changed(
    services: ClientServices, addr: str, request: RemotingCommand
) -> Task[None]:
    """Rebalance soon; there is no answer."""
    yield from ()
    services.rebalance_soon()
