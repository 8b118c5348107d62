"""QUERY_CONSUME_QUEUE (321): return entries of a consume queue, as they are stored.

Behaviour: at most ``count`` entries from ``index`` to the end of its file, with what the extension
of the queue has of them; with a group, also what the group subscribes to, and whether its filter
lets each entry with an extension through. The remark is not cleared on success. If there is no
entry at ``index``, the remark says that, and the code is SUCCESS.
Refused: a queue that never had a message: SYSTEM_ERROR.
Differs: Java creates a queue when a client asks for its offsets or pulls from it.

Source: broker/processor/AdminBrokerProcessor.java#queryConsumeQueue (4.9.7)
"""

from __future__ import annotations

from base64 import b64encode

from fakemq.broker.broker import Broker, handles
from fakemq.broker.filters.tags import tags_filter
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import NOTHING_SAID, Refused, Reply, Request
from fakemq.dispatch.outcomes import required
from fakemq.protocol import fastjson, table
from fakemq.protocol.bodies.queue import ConsumeQueueData, QueryConsumeQueueResponseBody
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.query import QueryConsumeQueueRequestHeader
from fakemq.protocol.java import int32
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT
from fakemq.protocol.message import LEAST_TAGS_CODE
from fakemq.protocol.subscription import is_tag_type
from fakemq.protocol.table import NoHeader
from fakemq.store.queue_extension import ExtendedQueue, ExtensionUnit


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
    if header.consumer_group is not None:
        _show_filter(broker, body, header.consumer_group, topic)
    for offset, size, code in CONSUME_QUEUE_UNIT.iter_unpack(units[:size_bytes]):
        entry = ConsumeQueueData(physic_offset=offset, physic_size=size, tags_code=code)
        if code < LEAST_TAGS_CODE:
            unit = queue.unit_of(code) if isinstance(queue, ExtendedQueue) else None
            if unit is None:
                entry.msg = f"Cq extend not exist!addr: {code}"
            else:
                _show_unit(entry, unit)
                entry.eval = _may_match(broker, body, unit, header.consumer_group, topic)
        entries.append(entry)
        yield
    encoded = yield from body.encode_in_steps()
    return Reply(body=encoded, remark=NOTHING_SAID)


def _show_unit(entry: ConsumeQueueData, unit: ExtensionUnit) -> None:
    shown: dict[str, object] = {
        "msgStoreTime": unit.store_timestamp_ms,
        "size": unit.size_bytes,
        "tagsCode": unit.tags_code,
    }
    if unit.bit_map:
        shown = {"filterBitMap": b64encode(unit.bit_map).decode()} | shown
        entry.bit_map = _bits_text(unit.bit_map)
    entry.extend_data_json = fastjson.dumps(shown)


def _bits_text(bit_map: bytes) -> str:
    """Return the bits from the last to the first, in lines that end with each eighth byte.

    Source: filter/util/BitsArray.java#toString (4.9.7)
    """
    parts = [f"{byte:08b}" if at % 8 else f"{byte:08b}\n" for at, byte in enumerate(bit_map)]
    return "".join(reversed(parts))


def _may_match(
    broker: Broker,
    body: QueryConsumeQueueResponseBody,
    unit: ExtensionUnit,
    group: str | None,
    topic: str,
) -> bool:
    """Return whether the group's filter lets an entry through; False without a filter."""
    subscription = body.subscription_data
    if subscription is None or group is None:
        return False
    if is_tag_type(subscription.expression_type):
        by_tags = tags_filter(subscription)
        return by_tags is None or by_tags.is_matched_by_consume_queue(unit.tags_code)
    return broker.filters.may_match(topic, group, unit)


def _show_filter(
    broker: Broker, body: QueryConsumeQueueResponseBody, group: str, topic: str
) -> None:
    body.subscription_data = broker.consumers.find_subscription(group, topic)
    if body.subscription_data is None:
        body.filter_data = f"{group}@{topic} is not online!"
    else:
        body.filter_data = fastjson.dumps_pretty(broker.filters.data(topic, group))
