"""GET_ALL_PRODUCER_INFO (328): return every producer of every group.

Source: broker/client/ProducerManager.java#getProducerTable (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.connection import ProducerInfo, ProducerTableInfo
from fakemq.protocol.headers.client import GetAllProducerInfoRequestHeader
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.broker.clients.client_channel import ClientChannelInfo


@handles(table.GET_ALL_PRODUCER_INFO)
def get_all_producer_info(
    broker: Broker, request: Request[GetAllProducerInfoRequestHeader]
) -> Steps[Reply[NoHeader]]:
    producers = broker.producers
    data: dict[str, list[ProducerInfo]] = {}
    for group in producers.groups():
        for channel in producers.channels(group) or ():
            data.setdefault(group, []).append(_info(channel))
            yield
    return Reply(body=(yield from ProducerTableInfo(data=data).encode_in_steps()))


def _info(channel: ClientChannelInfo) -> ProducerInfo:
    return ProducerInfo(
        client_id=channel.client_id,
        remote_ip=f"/{channel.session.remote_addr}",
        language=channel.language.name,
        version=channel.version,
        last_update_timestamp=channel.last_update_timestamp,
    )
