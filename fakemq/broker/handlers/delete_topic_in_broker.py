"""DELETE_TOPIC_IN_BROKER (215): forget a topic and its queues.

Behaviour: offsets of groups stay, records stay in the commit log, and name servers go on routing
the topic until they are told themselves; one that is created again begins at 0. Queues of any other
topic without a config go too. A topic that is not here is SUCCESS. Of a light one (``%LMQ%``) only
the queues go.
Refused: a name that no topic can have, a system topic, a slave: SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#deleteTopic (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.checks import check_not_slave, check_not_system_topic, check_topic_name
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.topic import DeleteTopicRequestHeader
from fakemq.protocol.table import NoHeader
from fakemq.protocol.topics import LMQ_PREFIX


@handles(table.DELETE_TOPIC_IN_BROKER)
def delete_topic_in_broker(
    broker: Broker, request: Request[DeleteTopicRequestHeader]
) -> Reply[NoHeader]:
    check_not_slave(broker)
    topic = request.header.get("topic", "")  # to StringUtils null is blank
    check_topic_name(topic)
    check_not_system_topic(broker, topic)
    if topic.startswith(LMQ_PREFIX):
        broker.store.delete_consume_queue(topic)
    else:
        broker.delete_topic(topic)
    return Reply()
