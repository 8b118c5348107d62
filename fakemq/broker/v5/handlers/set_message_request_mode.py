"""SET_MESSAGE_REQUEST_MODE (401): let clients of a group pull or pop a topic.

Refused: a retry topic; a topic or a group that does not exist.

Source: broker/processor/QueryAssignmentProcessor.java#setMessageRequestMode (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.sending.checks import existing_topic
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.dispatch.long_work import in_slices
from fakemq.dispatch.outcomes import body_of, required
from fakemq.protocol.bodies.pop import SetMessageRequestModeRequestBody
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.table import NoHeader
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.protocol.v5 import table


@handles(table.SET_MESSAGE_REQUEST_MODE)
@in_slices
def set_message_request_mode(broker: Broker5, request: Request[NoHeader]) -> Steps[Reply[NoHeader]]:
    body = SetMessageRequestModeRequestBody.decode(body_of(request))
    topic = required(body.topic, "SetMessageRequestModeRequestBody", "topic")
    if topic.startswith(RETRY_PREFIX):
        raise Refused(ResponseCode.NO_PERMISSION, "retry topic is not allowed to set mode")
    checks = broker.reference.checks_request_modes
    if checks:
        existing_topic(broker, topic)
    group = required(body.consumer_group, "SetMessageRequestModeRequestBody", "consumerGroup")
    if checks and broker.groups.find(group) is None:
        raise Refused(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "subscription group does not exist"
        )
    service = broker.pop
    service.modes.set(topic, group, body)
    yield from service.mode_file.persist_change()
    return Reply()
