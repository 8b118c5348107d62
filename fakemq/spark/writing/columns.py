"""Which columns can be written, and of what types: checked before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

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
"""Name, and the types it may have, as Spark's SQL spells them."""


def check_columns(source: str, schema: StructType, *, topic_given: bool) -> None:
    """ConfigError for columns that make no messages. Names count without regard to case."""
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
            raise ConfigError(f"{source}: column {name} is there twice")
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
        raise ConfigError(f"{source}: column broker says nothing without a column queueId")
    if not topic_given and "topic" not in seen:
        raise ConfigError(f"{source}: no topic is named: give the option topic or a column topic")
