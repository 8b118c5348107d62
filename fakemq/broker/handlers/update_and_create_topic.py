"""UPDATE_AND_CREATE_TOPIC (17): create a topic or change it.

Behaviour: the answer waits until the name servers have replied to the registration, or timed out.
Ignored: ``defaultTopic`` and ``order``; the remark is not cleared on success.

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateTopic (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.registration import when_registered
from fakemq.broker.sending.checks import check_not_slave, check_not_system_topic, check_topic_name
from fakemq.dispatch.answers import NOTHING_SAID, Parked, Reply, Request, Thrown
from fakemq.protocol import table
from fakemq.protocol.bodies.topic import TOPIC_FILTER_TYPES, TopicConfig
from fakemq.protocol.headers.topic import CreateTopicRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.UPDATE_AND_CREATE_TOPIC)
def update_and_create_topic(
    broker: Broker, request: Request[CreateTopicRequestHeader]
) -> Reply[NoHeader] | Parked[NoHeader]:
    check_not_slave(broker)
    header = request.header
    filter_type = checked_filter_type(
        header,
        "org.apache.rocketmq.common.protocol.header.CreateTopicRequestHeader"
        ".checkFields(CreateTopicRequestHeader.java:50)",
    )
    topic = header.get("topic", "")
    check_topic_name(broker, topic)
    check_not_system_topic(broker, topic)
    config = TopicConfig(
        topic_name=topic,
        read_queue_nums=header.read_queue_nums,
        write_queue_nums=header.write_queue_nums,
        perm=header.perm,
        topic_filter_type=filter_type,
        topic_sys_flag=header.topic_sys_flag or 0,
    )
    broker.topics.update(config)
    reply: Reply[NoHeader] = Reply(remark=NOTHING_SAID)
    return when_registered(broker.registration.register_topic(config), reply)


def checked_filter_type(header: CreateTopicRequestHeader, place: str) -> str:
    """Return the filter type of a topic, the only field that Java's decoding checks.

    Raise Thrown if it is absent or unknown; ``place`` is where Java throws.
    """
    filter_type: str | None = header.get("topic_filter_type", None)
    if filter_type is None or filter_type not in TOPIC_FILTER_TYPES:
        raise Thrown(
            "org.apache.rocketmq.remoting.exception.RemotingCommandException:"
            f" topicFilterType = [{filter_type or 'null'}] value invalid,"
            f" {place}",
        )
    return filter_type
