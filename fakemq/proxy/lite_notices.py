"""Lite topics behind the front: what clients are notified by brokers.

Source: proxy/service/client/ProxyClientRemotingProcessor.java#notifyUnsubscribeLite (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.grpc.messages import NotifyUnsubscribeLiteCommand, TelemetryCommand

if TYPE_CHECKING:
    from fakemq.protocol.command import RemotingCommand
    from fakemq.proxy.clients import Clients


def unsubscribed(clients: Clients, command: RemotingCommand) -> None:
    """Tell a client that another one of its group has a lite topic now."""
    fields = command.ext_fields
    client = clients.consumer(fields.get("consumerGroup", ""), fields.get("clientId"))
    if client is not None:
        said = NotifyUnsubscribeLiteCommand(lite_topic=fields.get("liteTopic", ""))
        client.write(TelemetryCommand(notify_unsubscribe_lite_command=said))
