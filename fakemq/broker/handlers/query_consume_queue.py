"""QUERY_CONSUME_QUEUE (321): return entries of a consume queue, as they are stored.

Behaviour: at most ``count`` entries from ``index`` to the end of its file; with a group, also what
the group subscribes to. The remark is not cleared on success. If there is no entry at ``index``,
the remark says that, and the code is SUCCESS.
Refused: a queue that never had a message: SYSTEM_ERROR.
Differs: Java creates a queue when a client asks for its offsets or pulls from it.

Source: broker/processor/AdminBrokerProcessor.java#queryConsumeQueue (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import NOTHING_SAID, Refused, Reply, Request
from fakemq.dispatch.java_errors import required
from fakemq.protocol import fastjson, table
from fakemq.protocol.bodies.consumequeue import ConsumeQueueData, QueryConsumeQueueResponseBody
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.query import QueryConsumeQueueRequestHeader
from fakemq.protocol.java import int32
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT
from fakemq.protocol.table import NoHeader


@handles(table.QUERY_CONSUME_QUEUE)
def query_consume_queue(
    broker: Broker, request: Request[QueryConsumeQueueRequestHeader]
) -> Steps[Reply[NoHeader]]:
    header = request.header
    topic = required(header.topic, "QueryConsumeQueueRequestHeader", "topic")
    queue = broker.store.consume_queue(topic, header.queue_id)
    if queue is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, f"{header.queue_id}@{topic} is not exist!")
    units = queue.units_from(header.index)
    if units is None:
        return Reply(remark=f"Index {header.index} of {header.queue_id}@{topic} is not exist!")
    size_bytes = max(0, int32(header.count * CONSUME_QUEUE_UNIT.size))
    body = QueryConsumeQueueResponseBody(
        max_queue_index=queue.max_offset, min_queue_index=queue.min_offset
    )
    body.queue_data = entries = []
    for offset, size, code in CONSUME_QUEUE_UNIT.iter_unpack(units[:size_bytes]):
        entries.append(ConsumeQueueData(physic_offset=offset, physic_size=size, tags_code=code))
        yield
    if header.consumer_group is not None:
        _show_filter(broker, body, header.consumer_group, topic)
    encoded = yield from body.encode_in_steps()
    return Reply(body=encoded, remark=NOTHING_SAID)


def _show_filter(
    broker: Broker, body: QueryConsumeQueueResponseBody, group: str, topic: str
) -> None:
    info = broker.consumers.group(group)
    body.subscription_data = None if info is None else info.subscriptions.get(topic)
    if body.subscription_data is None:
        body.filter_data = f"{group}@{topic} is not online!"
    else:
        body.filter_data = fastjson.dumps_pretty(broker.filters.data(topic, group))
