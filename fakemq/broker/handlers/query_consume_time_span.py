"""QUERY_CONSUME_TIME_SPAN (303): return when messages were stored: first, last, last consumed.

Behaviour: -1 stands for no message, and a delay is then counted from the epoch. A group that never
committed counts as being at the first message. A group that did not arrive is "null".
Refused: a topic that does not exist: TOPIC_NOT_EXIST.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#queryConsumeTimeSpan (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.sending.checks import existing_topic
from fakemq.broker.tables.consume_stats import queues_of
from fakemq.clock.calendar import time_text
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import NULL
from fakemq.protocol import table
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.stats import QueryConsumeTimeSpanBody, QueueTimeSpan
from fakemq.protocol.headers.group import QueryConsumeTimeSpanRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.QUERY_CONSUME_TIME_SPAN)
def query_consume_time_span(
    broker: Broker, request: Request[QueryConsumeTimeSpanRequestHeader]
) -> Steps[Reply[NoHeader]]:
    topic = request.header.topic
    queues = queues_of(broker, topic, existing_topic(broker, topic).write_queue_nums)
    group = request.header.get("group", NULL)
    spans = []
    for queue in queues:
        spans.append(_span(broker, group, queue))
        yield
    body = yield from QueryConsumeTimeSpanBody(consume_time_span_set=spans).encode_in_steps()
    return Reply(body=body)


def _span(broker: Broker, group: str, queue: MessageQueue) -> QueueTimeSpan:
    store, topic, queue_id = broker.store, queue.topic or "", queue.queue_id
    end = store.max_offset_in_queue(topic, queue_id)
    consumed = broker.offsets.query(group, topic, queue_id)
    first_ms = store.earliest_message_time(topic, queue_id)
    last_ms = store.message_store_timestamp(topic, queue_id, end - 1)
    consumed_ms = first_ms
    if consumed > 0:
        consumed_ms = store.message_store_timestamp(topic, queue_id, consumed - 1)
    delay_ms = 0
    if consumed < end:
        next_ms = store.message_store_timestamp(topic, queue_id, consumed)
        delay_ms = broker.clock.now_ms() - next_ms
    return QueueTimeSpan(
        message_queue=queue,
        min_time_stamp=first_ms,
        max_time_stamp=last_ms,
        consume_time_stamp=consumed_ms,
        delay_time=delay_ms,
        min_time_stamp_str=time_text(first_ms),
        max_time_stamp_str=time_text(last_ms),
        consume_time_stamp_str=time_text(consumed_ms),
    )
