"""Properties that RocketMQ reserves."""

from __future__ import annotations

from fakemq.protocol import properties as names

SYSTEM_PROPERTIES = frozenset(
    (
        names.TRACE_SWITCH,
        names.MSG_REGION,
        names.KEYS,
        names.TAGS,
        names.WAIT_STORE_MSG_OK,
        names.DELAY_TIME_LEVEL,
        names.RETRY_TOPIC,
        names.REAL_TOPIC,
        names.REAL_QUEUE_ID,
        names.TRANSACTION_PREPARED,
        names.PRODUCER_GROUP,
        names.MIN_OFFSET,
        names.MAX_OFFSET,
        names.BUYER_ID,
        names.ORIGIN_MESSAGE_ID,
        names.TRANSFER_FLAG,
        names.CORRECTION_FLAG,
        names.MQ2_FLAG,
        names.RECONSUME_TIME,
        names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
        names.MAX_RECONSUME_TIMES,
        names.CONSUME_START_TIMESTAMP,
        names.INSTANCE_ID,
        names.CORRELATION_ID,
        names.MESSAGE_REPLY_TO_CLIENT,
        names.MESSAGE_TTL,
        names.REPLY_MESSAGE_ARRIVE_TIME,
        names.PUSH_REPLY_TIME,
        names.CLUSTER,
        names.MESSAGE_TYPE,
        names.INNER_MULTI_QUEUE_OFFSET,
    )
)
"""Names that applications must not use. Source: common/message/MessageConst.java#STRING_HASH_SET,
Message.java#putUserProperty (4.9.7)
"""
