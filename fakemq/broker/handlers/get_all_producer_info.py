"""GET_ALL_PRODUCER_INFO (328): return every producer of every group.

Source: broker/client/ProducerManager.java#getProducerTable (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.connection import ProducerInfo, ProducerTableInfo
from fakemq.protocol.headers.client import GetAllProducerInfoRequestHeader
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.broker.client_channel import ClientChannelInfo


@handles(table.GET_ALL_PRODUCER_INFO)
def get_all_producer_info(
    broker: Broker, request: Request[GetAllProducerInfoRequestHeader]
) -> Reply[NoHeader]:
    producers = broker.producers
    data = {
        group: [_info(channel) for channel in channels]
        for group in producers.groups()
        if (channels := producers.channels(group))
    }
    return Reply(body=ProducerTableInfo(data=data).encode())


def _info(channel: ClientChannelInfo) -> ProducerInfo:
    return ProducerInfo(
        client_id=channel.client_id,
        remote_ip=f"/{channel.session.remote_addr}",
        language=channel.language.name,
        version=channel.version,
        last_update_timestamp=channel.last_update_timestamp,
    )
