"""UPDATE_AND_CREATE_TOPIC (17): create a topic or change it, with its attributes.

Behaviour: as in 4.9.7, but ``order`` counts, slaves answer too, and a topic that is the same
already is not registered again. ``attributes`` are changes: ``+message.type=FIFO,-reserve.time``.
Refused: a name that no topic can have, a system topic, and message.type MIXED without
enableMixedMessageType: INVALID_PARAMETER; wrong attributes: SYSTEM_ERROR.
Ignored: ``defaultTopic``; the remark is not cleared on success.

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateTopic (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.update_and_create_topic import checked_filter_type
from fakemq.broker.registration import when_registered
from fakemq.broker.v5.attributes import WrongAttributeError, parsed_attributes
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.topic_changes import check_message_type, check_topic, is_unchanged, put_topic
from fakemq.dispatch.answers import NOTHING_SAID, Parked, Refused, Reply, Request
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.topic import CreateTopicRequestHeader5


@handles(table.UPDATE_AND_CREATE_TOPIC)
def update_and_create_topic(
    broker: Broker5, request: Request[CreateTopicRequestHeader5]
) -> Reply[NoHeader] | Parked[NoHeader]:
    header = request.header
    filter_type = checked_filter_type(
        header,
        "org.apache.rocketmq.remoting.protocol.header.CreateTopicRequestHeader"
        ".checkFields(CreateTopicRequestHeader.java:66)",
    )
    topic = header.topic
    check_topic(broker, topic)
    try:
        attributes = parsed_attributes(header.attributes)
    except WrongAttributeError as error:
        raise Refused(ResponseCode.SYSTEM_ERROR, str(error)) from None
    config = TopicConfig(
        topic_name=topic,
        read_queue_nums=header.read_queue_nums,
        write_queue_nums=header.write_queue_nums,
        perm=header.perm,
        topic_filter_type=filter_type,
        topic_sys_flag=header.topic_sys_flag or 0,
        order=header.order,
        attributes=attributes,
    )
    check_message_type(broker, config)
    reply: Reply[NoHeader] = Reply(remark=NOTHING_SAID)
    if is_unchanged(broker, config):
        return reply
    put_topic(broker, config)
    return when_registered(broker.registration.register_topic(config), reply)
