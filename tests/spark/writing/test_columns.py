"""Which columns a DataFrame may have for writing, and of which types."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
)

from fakemq.errors import ConfigError
from fakemq.spark.writing.rows import check_columns

TEXT, BYTES = StringType(), BinaryType()


def check(columns: dict[str, DataType], *, topic_given: bool = True) -> None:
    schema = StructType([StructField(name, kind) for name, kind in columns.items()])
    check_columns("rocketmq", schema, topic_given=topic_given)


def test_every_column_is_accepted() -> None:
    columns = {
        "value": BYTES,
        "key": TEXT,
        "tags": NullType(),
        "topic": TEXT,
        "broker": TEXT,
        "QueueID": LongType(),
        "properties": MapType(TEXT, TEXT),
        "delayLevel": IntegerType(),
        "shardingKey": TEXT,
    }
    check(columns, topic_given=False)
    check({"value": TEXT})


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"key": TEXT}, "column value is missing"),
        ({"value": NullType()}, "column value is of type void, where binary or string is wanted"),
        ({"value": LongType()}, "column value is of type bigint, where binary or string"),
        ({"value": TEXT, "key": BYTES}, "column key is of type binary, where string is wanted"),
        (
            {"value": TEXT, "properties": MapType(TEXT, BooleanType())},
            r"column properties is of type map<string,boolean>, where map<string,string> is",
        ),
        ({"value": TEXT, "queueId": TEXT}, "column queueId is of type string, where int or bigint"),
        (
            {"value": TEXT, "keys": TEXT},
            "column keys cannot be written; these can: value, key, tags, .*; did you mean key",
        ),
        ({"value": TEXT, "Value": TEXT}, "column value occurs twice"),
        ({"value": TEXT, "broker": TEXT}, "broker needs a column queueId"),
    ],
)
def test_unwritable_columns_are_refused(columns: dict[str, DataType], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check(columns)


def test_topic_is_required() -> None:
    with pytest.raises(ConfigError, match="no topic: give the option topic or a column"):
        check({"value": TEXT}, topic_given=False)
