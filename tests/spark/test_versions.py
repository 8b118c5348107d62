"""Which Spark this run is of: the newest, or the one that `test_oldest_pyspark` names."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.slow  # starts the session, if it is the first of the run
def test_python_java_and_workers_have_the_expected_version(spark: SparkSession) -> None:
    meant = os.environ.get("FAKEMQ_PYSPARK") or version("pyspark")
    workers = spark.sparkContext.range(1).map(lambda _: version("pyspark")).collect()
    assert [version("pyspark"), spark.version, *workers] == [meant] * 3
