"""``fakemq queues``: the queues of one topic."""

from __future__ import annotations

from collections.abc import Iterator

import click

from fakemq.commands.output import Table, shows
from fakemq.commands.running_cluster import RunningCluster, completes, topic_names


@click.command(short_help="The queues of a topic, with offsets.")
@click.argument("topic", shell_complete=completes(topic_names))
@shows
def queues(cluster: RunningCluster, topic: str) -> Iterator[Table]:
    """The queues of a topic: their first and next offsets, and their newest messages.

    The figures are those of "mqadmin topicStatus".
    """
    cluster.require_topic(topic)
    route = cluster.ask(cluster.client.instance.fetch_route(topic))
    names = {one.broker_name for one in route.broker_datas} if route else set()
    stats = cluster.answers(
        {
            one: cluster.admin.topic_offsets(topic, one.addr)
            for one in cluster.asked
            if one.name in names
        }
    )
    rows = [
        {
            "broker": queue.broker_name,
            "queue_id": queue.queue_id,
            "min_offset": offset.min_offset,
            "max_offset": offset.max_offset,
            "messages": offset.max_offset - offset.min_offset,
            "last_message_at_ms": offset.last_update_timestamp or None,
        }
        for table in stats.values()
        for queue, offset in table.items()
    ]
    rows.sort(key=lambda row: (str(row["broker"]), row["queue_id"]))
    columns = ("broker", "queue_id", "min_offset", "max_offset", "messages", "last_message_at_ms")
    yield Table("queue", columns, rows)
