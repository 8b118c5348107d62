"""DELETE_TOPIC_IN_BROKER (215): delete a topic and its queues.

Behaviour: the offsets of groups stay, and so do the records in the commit log. Name servers route
the topic until they get a delete request of their own. A topic that is created again begins at
offset 0. The queues of every other topic without a config are deleted, too. A topic that does not
exist is SUCCESS. Of a light topic (``%LMQ%``) only the queues are deleted.
Refused: an invalid name, a system topic, a request at a slave: SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#deleteTopic (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.sending.checks import check_not_slave, check_not_system_topic, check_topic_name
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
    topic = request.header.get("topic", "")  # Java's StringUtils takes null as blank
    check_topic_name(broker, topic)
    check_not_system_topic(broker, topic)
    if topic.startswith(LMQ_PREFIX):
        broker.store.delete_consume_queue(topic)
    else:
        broker.delete_topic(topic)
    return Reply()
