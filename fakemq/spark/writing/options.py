"""The options of writing to ``format("rocketmq")``."""

from __future__ import annotations

import msgspec

from fakemq.client.messages import SendStatus
from fakemq.errors import ConfigError
from fakemq.protocol import properties as names
from fakemq.protocol.properties import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR
from fakemq.spark.connection import CONNECTION_OPTIONS, ClusterSettings, connection_of
from fakemq.spark.options import Options

WRITE_OPTIONS = (
    *CONNECTION_OPTIONS,
    "topic",
    "batchSize",
    "deliveryTimeoutMs",
    "acceptStatuses",
    "rowIdProperty",
    "writeId",
    "dropSystemProperties",
)

_SPARKS_OWN = ("path", "checkpointLocation", "queryName")
"""Options that Spark adds; a path is refused."""

BATCH_SIZE = 1_000
BATCH_SIZE_MAX = 32_767
DELIVERY_TIMEOUT_MS = 120_000
ROW_ID_PROPERTY = "SPARK_ROW_ID"
NO_ROW_ID = "none"

SEPARATORS = frozenset((NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR))


class WriteOptions(msgspec.Struct, frozen=True):
    """The options of a write; Spark pickles it for its workers."""

    connection: ClusterSettings
    topic: str | None
    """The topic of every row, whatever the row's column contains."""
    batch_size: int
    delivery_timeout_ms: int
    """How long one send is tried before its task fails; the client's own retries are included."""
    accept_statuses: frozenset[SendStatus]
    """The send statuses with which a row counts as written."""
    row_id_property: str | None
    write_id: str | None
    drop_system_properties: bool


def write_options_of(options: Options) -> WriteOptions:
    """Return the options of a write. Raise ConfigError for an unknown or invalid one."""
    options.require_known((*WRITE_OPTIONS, *_SPARKS_OWN))
    if options.text("path"):
        raise ConfigError(
            f"{options.source}: a path is not used: name the topic by the option topic"
        )
    topic = options.text("topic")
    if topic == "":
        raise options.bad("topic", "the name of a topic")
    batch_size = options.number("batchSize", BATCH_SIZE, least=1)
    if batch_size > BATCH_SIZE_MAX:
        raise options.bad("batchSize", f"a whole number from 1 to {BATCH_SIZE_MAX}")
    row_id = options.text("rowIdProperty") or ROW_ID_PROPERTY
    if row_id in SYSTEM_PROPERTIES or not SEPARATORS.isdisjoint(row_id):
        raise options.bad("rowIdProperty", "a name that is free for applications, or none")
    return WriteOptions(
        connection=connection_of(options),
        topic=topic,
        batch_size=batch_size,
        delivery_timeout_ms=options.number("deliveryTimeoutMs", DELIVERY_TIMEOUT_MS),
        accept_statuses=_statuses(options),
        row_id_property=None if row_id.lower() == NO_ROW_ID else row_id,
        write_id=options.text("writeId") or None,
        drop_system_properties=options.flag("dropSystemProperties", False),
    )


def _statuses(options: Options) -> frozenset[SendStatus]:
    text = options.text("acceptStatuses")
    if text is None:
        return frozenset(SendStatus)
    names = {name.strip().upper() for name in text.split(",")}
    if not names <= set(SendStatus.__members__):
        raise options.bad("acceptStatuses", f"a list of {', '.join(SendStatus.__members__)}")
    return frozenset(SendStatus[name] for name in names) | {SendStatus.SEND_OK}


# Properties that RocketMQ reserves.

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
