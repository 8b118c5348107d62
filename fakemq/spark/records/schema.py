"""The columns of ``format("rocketmq")``; those of ``rocketmq-store`` begin with them."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]

TIMESTAMP = pa.timestamp("us", tz="UTC")

MESSAGE_FIELDS: tuple[tuple[str, str, pa.DataType], ...] = (
    ("topic", "string", pa.string()),
    ("broker", "string", pa.string()),
    ("queueId", "int", pa.int32()),
    ("offset", "long", pa.int64()),
    ("key", "string", pa.string()),
    ("tags", "string", pa.string()),
    ("value", "binary", pa.binary()),
    ("timestamp", "timestamp", TIMESTAMP),
    ("bornTimestamp", "timestamp", TIMESTAMP),
    ("msgId", "string", pa.string()),
    ("offsetMsgId", "string", pa.string()),
    ("bornHost", "string", pa.string()),
    ("storeHost", "string", pa.string()),
    ("sysFlag", "int", pa.int32()),
    ("reconsumeTimes", "int", pa.int32()),
    ("commitLogOffset", "long", pa.int64()),
)
"""Name, Spark type, Arrow type. ``offset`` counts in the queue, ``commitLogOffset`` in bytes.
``timestamp`` is when the broker stored the message, ``bornTimestamp`` when the client made it.
"""

PROPERTIES_FIELD = ("properties", "map<string,string>", pa.map_(pa.string(), pa.string()))
"""Added by the option ``includeProperties``."""


def message_ddl(*, include_properties: bool) -> str:
    """Return the columns as a DDL text for Spark."""
    return ", ".join(f"`{name}` {ddl}" for name, ddl, _ in _fields(include_properties))


def message_schema(*, include_properties: bool) -> pa.Schema:
    """Return the columns as an Arrow schema."""
    return pa.schema([(name, arrow) for name, _, arrow in _fields(include_properties)])


def _fields(include_properties: bool) -> tuple[tuple[str, str, pa.DataType], ...]:
    return (*MESSAGE_FIELDS, PROPERTIES_FIELD) if include_properties else MESSAGE_FIELDS
