"""Rows to messages: what each column comes to, and what cannot be sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fakemq.client.messages import Message
from fakemq.errors import FakemqError
from fakemq.protocol import properties as names
from fakemq.spark.row_ids import RowIds
from fakemq.spark.write_columns import WRITE_COLUMNS
from fakemq.spark.write_options import WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa

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
"""Names that no application may use. Source: common/message/MessageConst.java#STRING_HASH_SET,
Message.java#putUserProperty (4.9.7)
"""

_OWN_COLUMN = {names.KEYS: "key", names.TAGS: "tags", names.DELAY_TIME_LEVEL: "delayLevel"}


class RowError(FakemqError):
    """A row that is no message."""


class OutgoingRow(NamedTuple):
    """A message, and what the row says about its queue."""

    message: Message
    sharding_key: str | None
    broker: str | None
    queue_id: int | None

    @property
    def is_delayed(self) -> bool:
        return names.DELAY_TIME_LEVEL in self.message.properties


def outgoing_rows(
    batch: pa.RecordBatch, options: WriteOptions, ids: RowIds | None
) -> Iterator[OutgoingRow]:
    """The messages of a batch's rows, in their order; RowError for the first that is none."""
    spelt = {name.lower(): name for name in WRITE_COLUMNS}
    found = {
        spelt[name.lower()]: column.to_pylist()
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    nothing = [None] * batch.num_rows
    if options.topic is not None:
        found["topic"] = [options.topic] * batch.num_rows
    for row in zip(*(found.get(name, nothing) for name in WRITE_COLUMNS), strict=True):
        yield _outgoing(options, ids, *row)


def _outgoing(
    options: WriteOptions,
    ids: RowIds | None,
    value: bytes | str | None,
    key: str | None,
    tags: str | None,
    topic: str | None,
    broker: str | None,
    queue_id: int | None,
    given: list[tuple[str, str | None]] | None,
    delay_level: int | None,
    sharding_key: str | None,
) -> OutgoingRow:
    if not topic or not topic.strip():
        raise RowError("rocketmq: a row names no topic: its column topic is null or empty")
    if value is None:
        raise RowError(f"rocketmq: a row for topic {topic} has no value: the message body is null")
    if not value:
        raise RowError(
            f"rocketmq: a row for topic {topic} has an empty value: the message body length is zero"
        )
    if broker is not None and queue_id is None:
        raise RowError(
            f"rocketmq: a row for topic {topic} names broker {broker} and no queueId of it"
        )
    properties = _user_properties(topic, given, options) if given else {}
    for name, text in ((names.KEYS, key), (names.TAGS, tags)):
        if text:
            properties[name] = _clean(topic, name, text)
    if delay_level:
        if delay_level < 0:
            raise RowError(
                f"rocketmq: a row for topic {topic} has delayLevel {delay_level},"
                " where 0 (none) or a level from 1 on is wanted"
            )
        properties[names.DELAY_TIME_LEVEL] = str(delay_level)
    message = Message(topic, value, properties=properties)
    if ids is not None and options.row_id_property is not None:
        message.properties.setdefault(
            options.row_id_property,
            ids.name(
                topic.encode(),
                message.body,
                repr((sorted(properties.items()), broker, queue_id, sharding_key)).encode(),
            ),
        )
    return OutgoingRow(message, sharding_key, broker, queue_id)


def _user_properties(
    topic: str, given: list[tuple[str, str | None]], options: WriteOptions
) -> dict[str, str]:
    """Source: common/message/Message.java#putUserProperty (4.9.7)"""
    properties: dict[str, str] = {}
    for name, text in given:
        if name in SYSTEM_PROPERTIES:
            if options.drop_system_properties:
                continue
            column = _OWN_COLUMN.get(name)
            raise RowError(
                f"rocketmq: a row for topic {topic} has property {name}, which is used by system:"
                f" {f'give the column {column}' if column else 'choose another name'}, or let the"
                " option dropSystemProperties leave it out"
            )
        if not name.strip() or text is None or not text.strip():
            raise RowError(
                f"rocketmq: a row for topic {topic} has property {name!r} of value {text!r}:"
                " neither may be null or blank"
            )
        properties[_clean(topic, name, name)] = _clean(topic, name, text)
    return properties


def _clean(topic: str, name: str, text: str) -> str:
    if names.NAME_VALUE_SEPARATOR in text or names.PROPERTY_SEPARATOR in text:
        raise RowError(
            f"rocketmq: a row for topic {topic} has U+0001 or U+0002 in property {name!r};"
            " they separate properties on the wire"
        )
    return text
