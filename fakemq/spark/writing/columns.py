"""Which columns can be written, and their types; checked before anything is sent."""

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
