"""Not there yet: Spark's data sources for RocketMQ."""

raise ImportError(
    "fakemq.spark is not there yet: fakemq does not read or write RocketMQ from Spark"
)
