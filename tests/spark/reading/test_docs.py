"""The example of docs/spark_read.md does what it says, and its table has every option."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from fakemq import Cluster
from fakemq.spark.reading.options import READ_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = (Path(__file__).parents[3] / "docs/spark_read.md").read_text(encoding="utf-8")


def test_table_has_every_option() -> None:
    named = set(re.findall(r"`([\w.]+)`", PAGE))
    assert set(READ_OPTIONS) <= named


@pytest.mark.slow  # starts the session, if it is the first of the run
@pytest.mark.xdist_group("spark")
def test_example_runs(spark: SparkSession) -> None:
    source = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    with Cluster(topics={"orders": 2}) as mq:
        mq.seed("orders", ["one", "two", "three"])
        exec(compile(source, "spark_read.md", "exec"), {"mq": mq, "spark": spark})
