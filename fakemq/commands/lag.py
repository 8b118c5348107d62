"""``fakemq lag``: how far a group is behind, queue by queue."""

from __future__ import annotations

from collections.abc import Iterator

import click

from fakemq.commands.output import Table, shows
from fakemq.commands.running_cluster import RunningCluster, completes, consumer_groups


@click.command(short_help="How far a group is behind, by queue.")
@click.argument("group", shell_complete=completes(consumer_groups))
@click.option("--topic", metavar="NAME", help="Only the queues of this topic.")
@shows
def lag(cluster: RunningCluster, group: str, topic: str | None) -> Iterator[Table]:
    """How far a group is behind in each queue: stored, consumed, and the difference.

    The figures are those of "mqadmin consumerProgress -g".
    """
    cluster.require_group(group)
    if topic is not None:
        cluster.require_topic(topic)
    stats = cluster.consume_stats([group], topic)[group]
    rows = [
        {
            "topic": queue.topic,
            "broker": queue.broker_name,
            "queue_id": queue.queue_id,
            "broker_offset": offset.broker_offset,
            "consumer_offset": offset.consumer_offset,
            "lag": offset.broker_offset - offset.consumer_offset,
            "last_consumed_at_ms": offset.last_timestamp or None,
        }
        for queue, offset in stats.offset_table.items()
    ]
    rows.sort(key=lambda row: (str(row["topic"]), str(row["broker"]), row["queue_id"]))
    note = f"{group}: lag {stats.compute_total_diff()}, {stats.consume_tps:.2f} messages/s"
    if not rows:
        note = f"{group} has committed no offset" + (f" in {topic}" if topic else "")
    columns = ("topic", "broker", "queue_id", "broker_offset", "consumer_offset", "lag")
    minor = ("last_consumed_at_ms",)
    yield Table("lag", (*columns, *minor), rows, note, minor=minor)
