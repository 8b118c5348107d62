"""Turns rows into messages: what each column becomes, and which rows cannot be sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from fakemq.errors import ConfigError, FakemqError, did_you_mean
from fakemq.protocol import properties as names
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.properties import (
    NAME_VALUE_SEPARATOR,
    PROPERTIES_MAX_BYTES,
    PROPERTY_SEPARATOR,
)
from fakemq.spark.writing.options import SYSTEM_PROPERTIES, WriteOptions
from fakemq.spark.writing.row_ids import RowIds

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.types import StructType

# Which columns can be written, and their types; checked before anything is sent.

_TEXT = ("string",)
_NUMBER = ("int", "bigint", "smallint", "tinyint")
_NOTHING = "void"

WRITE_COLUMNS: dict[str, tuple[str, ...]] = {
    "value": ("binary", "string"),
    "key": _TEXT,
    "tags": _TEXT,
    "topic": _TEXT,
    "broker": _TEXT,
    "queueId": _NUMBER,
    "properties": ("map<string,string>",),
    "delayLevel": _NUMBER,
    "shardingKey": _TEXT,
}
"""Name, and its possible types in the spelling of Spark's SQL."""


def check_columns(source: str, schema: StructType, *, topic_given: bool) -> None:
    """Raise ConfigError for columns that make no messages. Names are compared without case."""
    spelt = {name.lower(): name for name in WRITE_COLUMNS}
    seen: set[str] = set()
    for field in schema.fields:
        name = spelt.get(field.name.lower())
        if name is None:
            raise ConfigError(
                f"{source}: column {field.name} cannot be written; these can:"
                f" {', '.join(WRITE_COLUMNS)}{did_you_mean(field.name, WRITE_COLUMNS, lists=False)}"
            )
        if name in seen:
            raise ConfigError(f"{source}: column {name} occurs twice")
        seen.add(name)
        accepted, found = WRITE_COLUMNS[name], field.dataType.simpleString()
        if found not in accepted and (found != _NOTHING or name == "value"):
            raise ConfigError(
                f"{source}: column {name} is of type {found}, where {' or '.join(accepted)}"
                " is wanted"
            )
    if "value" not in seen:
        raise ConfigError(
            f"{source}: column value is missing: the body of the message, binary or string"
        )
    if "broker" in seen and "queueId" not in seen:
        raise ConfigError(f"{source}: column broker needs a column queueId")
    if not topic_given and "topic" not in seen:
        raise ConfigError(f"{source}: no topic: give the option topic or a column topic")


_OWN_COLUMN = {names.KEYS: "key", names.TAGS: "tags", names.DELAY_TIME_LEVEL: "delayLevel"}


class RowError(FakemqError):
    """A row cannot be a message."""


_SPELT = {name.lower(): name for name in WRITE_COLUMNS}
_END = PROPERTY_SEPARATOR
_UNIQUE_ID = f"{names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX}{NAME_VALUE_SEPARATOR}"

_Row = tuple[
    bytes | str | None,
    str | None,
    str | None,
    str | None,
    str | None,
    int | None,
    list[tuple[str, str | None]] | None,
    int | None,
    str | None,
]
"""The values of a row, in the order of WRITE_COLUMNS."""


class OutgoingRow(NamedTuple):
    """A message, and the queue that its row names."""

    topic: str
    body: bytes
    properties: bytes
    """In the form that travels."""
    sharding_key: str | None
    broker: str | None
    queue_id: int | None
    is_delayed: bool


class _Content(NamedTuple):
    """The content of a row, before the row has an id."""

    topic: str
    body: bytes
    properties: str
    """Each with a separator after it."""
    sharding_key: str | None
    broker: str | None
    queue_id: int | None
    is_delayed: bool

    def digest(self, ids: RowIds) -> bytes:
        head = f"{self.topic}\0{self.broker}\0{self.queue_id}\0{self.sharding_key}\0"
        return ids.digest(f"{head}{self.properties}".encode(), self.body)


class RowEncoder:
    """Makes messages of one task's rows.

    ``unique_id`` makes the ids that a client assigns to its messages.
    """

    def __init__(self, options: WriteOptions, ids: RowIds, unique_id: Callable[[], str]) -> None:
        self._options = options
        self._ids = ids
        self._unique_id = unique_id
        self._own_name = f"{options.row_id_property}{NAME_VALUE_SEPARATOR}"

    def rows(self, batch: pa.RecordBatch) -> list[OutgoingRow]:
        """Return the messages of a batch's rows, in order. Raise RowError if a row is invalid."""
        found = {
            _SPELT[name.lower()]: column.to_pylist()
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        }
        if self._options.topic is not None:
            found["topic"] = [self._options.topic] * batch.num_rows
        nothing = [None] * batch.num_rows
        columns = [found.get(name, nothing) for name in WRITE_COLUMNS]
        contents = [self._content(row) for row in zip(*columns, strict=True)]
        if self._options.row_id_property is None:
            return [self._outgoing(one, "") for one in contents]
        ids, mark = self._ids, self._own_name
        digests = [one.digest(ids) for one in contents]
        again = ids.again(digests)
        return [
            self._outgoing(one, f"{mark}{ids.name(digest, again.get(index, 0))}{_END}")
            for index, (one, digest) in enumerate(zip(contents, digests, strict=True))
        ]

    def _content(self, row: _Row) -> _Content:
        value, key, tags, topic, broker, queue_id, given, delay_level, sharding_key = row
        if not topic or not value or (broker is not None and queue_id is None):
            raise RowError(_what_is_missing(topic, value, broker))
        properties = self._given(topic, given) if given else {}
        if key:
            properties[names.KEYS] = key
        if tags:
            properties[names.TAGS] = tags
        if delay_level:
            if not 0 < delay_level <= INT_MAX:
                raise RowError(
                    f"rocketmq: a row for topic {topic} has delayLevel {delay_level},"
                    f" expected 0 (none) or a level from 1 to {INT_MAX}"
                )
            properties[names.DELAY_TIME_LEVEL] = str(delay_level)
        body = value.encode() if isinstance(value, str) else value
        text = _encoded(topic, properties) if properties else ""
        return _Content(topic, body, text, sharding_key, broker, queue_id, bool(delay_level))

    def _outgoing(self, content: _Content, name: str) -> OutgoingRow:
        topic, body, text, sharding_key, broker, queue_id, is_delayed = content
        if name and f"{_END}{self._own_name}" in f"{_END}{text}":
            name = ""  # the row brings an id of its own
        properties = f"{text}{name}{_UNIQUE_ID}{self._unique_id()}".encode()
        if len(properties) > PROPERTIES_MAX_BYTES:
            raise RowError(
                f"rocketmq: a row for topic {topic} has properties of {len(properties)} bytes"
                f" with its key and id, more than the {PROPERTIES_MAX_BYTES} possible"
            )
        return OutgoingRow(topic, body, properties, sharding_key, broker, queue_id, is_delayed)

    def _given(self, topic: str, given: list[tuple[str, str | None]]) -> dict[str, str]:
        """Return the properties in the column ``properties``.

        Source: common/message/Message.java#putUserProperty (4.9.7)
        """
        properties: dict[str, str] = {}
        for name, text in given:
            if name in SYSTEM_PROPERTIES:
                if self._options.drop_system_properties:
                    continue
                column = _OWN_COLUMN.get(name)
                raise RowError(
                    f"rocketmq: a row for topic {topic} has property {name}, which is used by"
                    f" system: {f'give the column {column}' if column else 'choose another name'},"
                    " or let the option dropSystemProperties leave it out"
                )
            if not name.strip() or text is None or not text.strip():
                raise RowError(
                    f"rocketmq: a row for topic {topic} has property {name!r} of value {text!r}:"
                    " neither may be null or blank"
                )
            properties[name] = text
        return properties


def _encoded(topic: str, properties: dict[str, str]) -> str:
    """Return the properties sorted by name, because Spark does not define the order of a map."""
    parts = [f"{name}{NAME_VALUE_SEPARATOR}{properties[name]}{_END}" for name in sorted(properties)]
    text = "".join(parts)
    if text.count(_END) != len(parts) or text.count(NAME_VALUE_SEPARATOR) != len(parts):
        raise RowError(
            f"rocketmq: a row for topic {topic} has U+0001 or U+0002 in its key, tags or"
            " properties, which separate properties from each other on the wire"
        )
    return text


def _what_is_missing(topic: str | None, value: bytes | str | None, broker: str | None) -> str:
    if not topic:
        return "rocketmq: a row names no topic: its column topic is null or empty"
    if value is None:
        return f"rocketmq: a row for topic {topic} has no value: the message body is null"
    if not value:
        return f"rocketmq: a row for topic {topic} has no value: the message body length is zero"
    return f"rocketmq: a row for topic {topic} names broker {broker} and no queueId of it"
