"""RECALL_MESSAGE (370): delete a timer message before it is delivered.

Behaviour: a deletion is stored as a timer message for the same second. When that is over, neither
is delivered. A handle names topic, broker, second and unique key; the broker does not look whether
there is such a message.
Refused: without recallMessageEnable; at a slave; with a handle of another topic or broker, or of a
time that is over or too far away.

Source: broker/processor/RecallMessageProcessor.java (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.sending.send import reply_when_durable
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.timers.service import delete_key
from fakemq.config.v5.model import BrokerConfig5
from fakemq.dispatch.answers import NOTHING_SAID, Parked, Refused, Reply, Request
from fakemq.dispatch.outcomes import required
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_long
from fakemq.protocol.hosts import own_host, record_host
from fakemq.protocol.properties import (
    MSG_REGION,
    PRODUCER_GROUP,
    TAGS,
    TIMER_DEL_UNIQKEY,
    TIMER_DELIVER_MS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    MadeProperties,
)
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.timers import RecallHandle
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.protocol.v5.headers.timer import (
    RecallMessageRequestHeader,
    RecallMessageResponseHeader,
)
from fakemq.protocol.v5.properties import encode_properties
from fakemq.store.inner_message import InnerMessage, inner_message

_TAG = "_RECALL_TAG_"
_BORN_TIMESTAMP = "BORN_TIMESTAMP"
_TRACE_CONTEXT = "TRACE_CONTEXT"
_NOT_AVAILABLE = "recall failed, broker service not available"


@handles(table.RECALL_MESSAGE)
def recall_message(
    broker: Broker5, request: Request[RecallMessageRequestHeader]
) -> Reply[RecallMessageResponseHeader] | Parked[RecallMessageResponseHeader]:
    config = broker.config
    region = {MSG_REGION: config.region_id}
    try:
        handle = _checked(broker, config, request.header)
    except Refused as refused:
        return Reply(code=refused.code, remark=refused.remark, ext_fields=region)
    result = broker.put(_deletion(broker, config, request, handle))
    if result.append_result is None:
        remark = "recall failed, execute error"
        return Reply(code=ResponseCode.SYSTEM_ERROR, remark=remark, ext_fields=region)
    answer = RecallMessageResponseHeader(msg_id=handle.message_id)
    reply = Reply(answer, remark=NOTHING_SAID, ext_fields=region)
    return reply_when_durable(broker, result, reply, sets_code=False)


def _checked(
    broker: Broker5, config: BrokerConfig5, header: RecallMessageRequestHeader
) -> RecallHandle:
    """Return the handle; raise Refused if the message may not be recalled here, or now."""
    if not config.recall_message_enable:
        raise Refused(ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")
    if broker.role.is_slave:
        raise Refused(ResponseCode.SLAVE_NOT_AVAILABLE, _NOT_AVAILABLE)
    now_ms = broker.clock.now_ms()
    writeable = config.broker_permission & PermName.WRITE
    if now_ms < config.start_accept_send_request_time_stamp or not (
        writeable or config.allow_recall_when_broker_not_writeable
    ):
        raise Refused(ResponseCode.SERVICE_NOT_AVAILABLE, _NOT_AVAILABLE)
    topic = required(header.topic, "Object", "key")
    if broker.topics.select(topic) is None:
        remark = f"recall failed, the topic[{topic}] not exist"
        raise Refused(ResponseCode.TOPIC_NOT_EXIST, remark)
    try:
        handle = RecallHandle.decode(header.recall_handle)
    except ValueError as error:
        raise Refused(ResponseCode5.ILLEGAL_OPERATION, str(error)) from None
    if topic != handle.topic:
        raise Refused(ResponseCode5.ILLEGAL_OPERATION, "recall failed, topic not match")
    if config.broker_name != handle.broker_name:
        raise Refused(ResponseCode5.ILLEGAL_OPERATION, _NOT_AVAILABLE)
    try:
        left_ms = parse_long(handle.timestamp) - now_ms
    except NumberFormatError:
        left_ms = 0
    if not 0 < left_ms < config.timer_max_delay_sec * 1000:
        raise Refused(ResponseCode5.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
    return handle


def _deletion(
    broker: Broker5,
    config: BrokerConfig5,
    request: Request[RecallMessageRequestHeader],
    handle: RecallHandle,
) -> InnerMessage:
    """Return the message that deletes another one."""
    now_ms = broker.clock.now_ms()
    properties = MadeProperties(
        {
            TAGS: _TAG,
            TIMER_DEL_UNIQKEY: delete_key(config, handle.topic, handle.message_id),
            UNIQ_CLIENT_MESSAGE_ID_KEYIDX: handle.message_id,
            TIMER_DELIVER_MS: handle.timestamp,
            _BORN_TIMESTAMP: str(now_ms),
            _TRACE_CONTEXT: "",
        }
    )
    group = request.header.producer_group
    if group is not None:
        properties[PRODUCER_GROUP] = group
    return inner_message(
        handle.topic,
        0,
        b"0",
        properties=properties,
        properties_string=encode_properties(properties),
        born_timestamp_ms=now_ms,
        born_host=record_host(request.session.remote_addr),
        store_host=own_host(config.broker_ip1, config.listen_port),
    )
