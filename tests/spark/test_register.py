"""Both formats are known to a session after `fakemq.spark.register`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fakemq.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.slow  # starts the session, if it is the first of the run
def test_format_has_the_documented_columns(spark: SparkSession) -> None:
    fakemq.spark.register(spark)  # again, which does no harm
    reader = spark.read.format("rocketmq").option("subscribe", "orders")
    assert reader.load().columns == [
        *("topic", "broker", "queueId", "offset", "key", "tags", "value", "timestamp"),
        *("bornTimestamp", "msgId", "offsetMsgId", "bornHost", "storeHost", "sysFlag"),
        *("reconsumeTimes", "commitLogOffset"),
    ]
    with_properties = reader.option("includeProperties", "true").load()
    assert with_properties.columns[-1] == "properties"
