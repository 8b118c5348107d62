"""UPDATE_CONSUMER_OFFSET (15): store how far a group has consumed a queue; never refused.

Behaviour: the offset may go backwards; topic, group and queue need not exist. An absent topic or
group is called null, the word that Java's concatenation makes of it.
Ignored: ``bname``.

Source: broker/processor/ConsumerManageProcessor.java#updateConsumerOffset (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import NULL
from fakemq.protocol import table
from fakemq.protocol.headers.offset import (
    UpdateConsumerOffsetRequestHeader,
    UpdateConsumerOffsetResponseHeader,
)


@handles(table.UPDATE_CONSUMER_OFFSET)
def update_consumer_offset(
    broker: Broker, request: Request[UpdateConsumerOffsetRequestHeader]
) -> Reply[UpdateConsumerOffsetResponseHeader]:
    header, queue_id = request.header, request.header.queue_id
    group, topic = header.get("consumer_group", NULL), header.get("topic", NULL)
    offset = broker.positions.committable(
        request.session, group, topic, queue_id, header.commit_offset
    )
    broker.offsets.commit(group, topic, queue_id, offset)
    return Reply(UpdateConsumerOffsetResponseHeader())
