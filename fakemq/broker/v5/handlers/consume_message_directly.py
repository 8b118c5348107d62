"""CONSUME_MESSAGE_DIRECTLY (309): pass a stored message on to a consumer, and its result back.

Behaviour: as in 4.9.7; the consumer also gets the system flags of topic and group.

Source: broker/processor/AdminBrokerProcessor.java#consumeMessageDirectly (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.consume_message_directly import consume_directly
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Parked, Request
from fakemq.protocol import table
from fakemq.protocol.headers.client import ConsumeMessageDirectlyResultRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.CONSUME_MESSAGE_DIRECTLY)
def consume_message_directly(
    broker: Broker5, request: Request[ConsumeMessageDirectlyResultRequestHeader]
) -> Parked[NoHeader]:
    fields = request.command.ext_fields
    topic = broker.topics.select(fields.get("topic", ""))
    if topic is not None:
        fields["topicSysFlag"] = str(topic.topic_sys_flag)
    group = broker.groups.find(request.header.get("consumer_group", ""))
    if group is not None:
        fields["groupSysFlag"] = str(group.group_sys_flag or 0)
    return consume_directly(broker, request)
