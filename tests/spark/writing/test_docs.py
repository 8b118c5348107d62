"""The example of docs/spark_write.md does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fakemq.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

PAGE = Path(__file__).parents[3] / "docs" / "spark_write.md"


@pytest.mark.slow  # starts the session, if it is the first of the run
def test_example_of_writing_runs(spark: SparkSession) -> None:
    write, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    with fakemq.Cluster(topics={"orders": 4}) as mq:
        exec(compile(write, str(PAGE), "exec"), {"fakemq": fakemq, "spark": spark, "mq": mq})
        arrived = mq.messages("orders")
        assert {one.properties["origin"] for one in arrived} == {"nightly"}
        assert {int(one.keys) for one in arrived} == set(range(1000))
        assert arrived[0].body.startswith(b'{"id":')
