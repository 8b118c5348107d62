"""``fakemq topics``: the topics of a cluster, with what they hold."""

from __future__ import annotations

from collections.abc import Iterator

import click

from fakemq.commands.output import Table, shows
from fakemq.commands.running_cluster import RunningCluster, completes, topic_names


@click.command(short_help="Topics: queues, messages, the newest message.")
@click.argument("names", metavar="[TOPIC]...", nargs=-1, shell_complete=completes(topic_names))
@click.option("-a", "--all", "all_topics", is_flag=True, help="RocketMQ's own topics, too.")
@shows
def topics(cluster: RunningCluster, names: tuple[str, ...], all_topics: bool) -> Iterator[Table]:
    """The topics with their queues, stored messages and newest message.

    Topics of retries and dead letters, and those that RocketMQ itself uses, need --all.
    """
    for name in names:
        cluster.require_topic(name)
    chosen = list(names) or cluster.topics(all_topics=all_topics)
    addr_of = {one.name: one.addr for one in cluster.asked}
    found = cluster.all_ok({name: cluster.client.instance.fetch_route(name) for name in chosen})
    brokers = {
        name: [one.broker_name or "" for one in route.broker_datas] if route else []
        for name, route in found.items()
    }
    stats = cluster.answers(
        {
            (name, broker): cluster.admin.topic_offsets(name, addr_of[broker])
            for name in chosen
            for broker in brokers[name]
            if broker in addr_of
        }
    )
    rows = []
    for name in chosen:
        offsets = [
            one for broker in brokers[name] for one in stats.get((name, broker), {}).values()
        ]
        rows.append(
            {
                "topic": name,
                "queues": len(offsets),
                "messages": sum(one.max_offset - one.min_offset for one in offsets),
                "last_message_at_ms": max((one.last_update_timestamp for one in offsets), default=0)
                or None,
                "brokers": sorted(brokers[name]),
            }
        )
    columns = ("topic", "queues", "messages", "last_message_at_ms", "brokers")
    note = "" if rows else cluster.nothing("there is no topic")
    yield Table("topic", columns, rows, note, minor=("brokers", "last_message_at_ms"))
