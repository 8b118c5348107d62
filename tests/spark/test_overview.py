"""The examples of docs/spark.md and of the README's part on Spark do what they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakemq.cluster import Cluster
from fakemq.spark.records.schema import message_schema
from fakemq.spark.requirements import OLDEST_PYSPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/spark.md").read_text()
README = (ROOT / "README.md").read_text().partition("\n## Spark\n")[2]


@pytest.mark.xdist_group("spark")
@pytest.mark.slow  # a batch read
@pytest.mark.parametrize("text", [PAGE, README], ids=["docs", "README"])
def test_example_runs(
    spark: SparkSession, rocketmq: Cluster, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    rocketmq.seed("orders", ["tea", "milk"], tags="paid")
    source = text.partition("```python\n")[2].partition("```")[0]
    exec(compile(source, "<example>", "exec"), {"spark": spark, "mq": rocketmq})
    assert "|paid|    2|" in capsys.readouterr().out


def test_page_names_every_column_and_the_oldest_version() -> None:
    for column in message_schema(include_properties=True).names:
        assert f"`{column}`" in PAGE
    assert f"{'.'.join(map(str, OLDEST_PYSPARK))} or newer" in PAGE
