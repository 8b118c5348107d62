"""Counts orders and what they come to, per customer: a streaming job from RocketMQ to RocketMQ.

    python count_job.py --name-server 127.0.0.1:9876 --checkpoint DIR --from orders --to counts

An order is a message with the customer as its key and ``{"amount": 37}`` as its body. It takes the
orders that are there, some at a time, sends the totals of all customers each time, and ends.
Killed at any moment and started again, it continues where its checkpoint says.
"""

from __future__ import annotations

import argparse
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import fakemq.spark


def main() -> None:
    """Run the job as the command line says."""
    args = _arguments()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.appName("counts")
        .master(args.master)
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", False)
        .getOrCreate()
    )
    fakemq.spark.register(spark)
    orders = (
        spark.readStream.format("rocketmq")
        .option("nameServer", args.name_server)
        .option("subscribe", args.source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", args.at_once)
        .load()
    )
    amount = f.from_json(f.col("value").cast("string"), "amount long")["amount"]
    totals = orders.groupBy("key").agg(f.count("*").alias("orders"), f.sum(amount).alias("amount"))
    query = (
        totals.select("key", f.to_json(f.struct("orders", "amount")).alias("value"))
        .writeStream.format("rocketmq")
        .option("nameServer", args.name_server)
        .option("topic", args.target)
        .option("checkpointLocation", args.checkpoint)
        .outputMode("complete")  # for a sink in Python there is no update mode
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name-server", required=True, metavar="HOST:PORT")
    parser.add_argument("--checkpoint", required=True, metavar="DIR")
    parser.add_argument("--from", dest="source", required=True, metavar="TOPIC")
    parser.add_argument("--to", dest="target", required=True, metavar="TOPIC")
    parser.add_argument("--at-once", type=int, default=100_000, metavar="ORDERS")
    parser.add_argument("--master", default="local[2]")
    return parser.parse_args()


if __name__ == "__main__":
    main()
