"""UPDATE_AND_CREATE_TOPIC_LIST (18): create or change several topics.

Behaviour: as UPDATE_AND_CREATE_TOPIC for each, all or none but for wrong attributes: those before
the first with a wrong one are changed. If one topic is the same already, none is changed, and the
answer is SUCCESS.

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateTopicList (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.registration import when_registered
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.topic_changes import check_message_type, check_topic, is_unchanged, put_topic
from fakemq.dispatch.answers import NOTHING_SAID, Parked, Reply, Request
from fakemq.dispatch.outcomes import body_of
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.tables import CreateTopicListRequestBody


@handles(table.UPDATE_AND_CREATE_TOPIC_LIST)
def update_and_create_topic_list(
    broker: Broker5, request: Request[NoHeader]
) -> Reply[NoHeader] | Parked[NoHeader]:
    configs = CreateTopicListRequestBody.decode(body_of(request)).topic_config_list
    reply: Reply[NoHeader] = Reply(remark=NOTHING_SAID)
    for config in configs:
        if config.attributes is None:
            config.attributes = {}
        check_topic(broker, config.topic_name or "")
        check_message_type(broker, config)
        if is_unchanged(broker, config):
            return reply
    for config in configs:
        put_topic(broker, config)
    return when_registered(broker.registration.register_topics(configs), reply)
