"""DELETE_TOPIC_IN_BROKER (215): delete a topic and its queues.

Behaviour: as in 4.9.7, but slaves answer, too, and the offsets of groups are deleted, and so are
the topics of messages that groups popped and did not acknowledge
(clearRetryTopicWhenDeleteTopic), and the lite topics of a parent.
Refused: no name, a system topic: INVALID_PARAMETER.

Source: broker/processor/AdminBrokerProcessor.java#deleteTopic, #deleteTopicInBroker (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.sending.checks import check_not_system_topic
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.lite.settings import is_parent
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import InvalidParameter, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.topic import DeleteTopicRequestHeader
from fakemq.protocol.pop import pop_retry_topic
from fakemq.protocol.table import NoHeader
from fakemq.protocol.topics import LMQ_PREFIX


@handles(table.DELETE_TOPIC_IN_BROKER)
def delete_topic_in_broker(
    broker: Broker5, request: Request[DeleteTopicRequestHeader]
) -> Steps[Reply[NoHeader]]:
    topic, config = request.header.get("topic", ""), broker.config
    if not topic or topic.isspace():
        raise InvalidParameter("The specified topic is blank.")
    if config.validate_system_topic_when_update_topic:
        check_not_system_topic(broker, topic)
    topics = [topic]
    if config.clear_retry_topic_when_delete_topic:
        for group in (yield from broker.offsets.which_groups_by_topic(topic)):
            retries = (
                pop_retry_topic(topic, group, v2=True),
                pop_retry_topic(topic, group, v2=False),
            )
            topics += (retry for retry in retries if broker.topics.select(retry) is not None)
            yield
    if broker.reference.has_lite_topics and is_parent(broker.topics.select(topic)):
        yield from broker.lite.expiry.parent_deleted(topic)
    for one in topics:
        if one.startswith(LMQ_PREFIX):
            broker.store.delete_consume_queue(one)
        else:
            broker.delete_topic(one)
        yield from broker.offsets.clean(one)
        yield from broker.offset_resets.clean(one)
        yield from broker.pull_offsets.clean(one)
        yield from broker.pop.inflight.forget(one)
        broker.timers.metrics.forget(one)
    return Reply()
