"""``fakemq groups``: the consumer groups of a cluster, with their members and lags."""

from __future__ import annotations

from collections.abc import Iterator

import click

from fakemq.commands.output import Table, shows
from fakemq.commands.running_cluster import RunningCluster, completes, consumer_groups, shown
from fakemq.protocol.bodies.connection import ConsumerConnection


@click.command(short_help="Consumer groups: members, rates, lags.")
@click.argument("names", metavar="[GROUP]...", nargs=-1, shell_complete=completes(consumer_groups))
@click.option("-a", "--all", "all_groups", is_flag=True, help="RocketMQ's own groups, too.")
@shows
def groups(cluster: RunningCluster, names: tuple[str, ...], all_groups: bool) -> Iterator[Table]:
    """The consumer groups with their members, kind of consumption, rate and lag.

    The figures are those of "mqadmin consumerProgress".
    """
    for name in names:
        cluster.require_group(name)
    known = () if names else cluster.group_names()
    chosen = list(names) or (sorted(known) if all_groups else shown(known))
    stats = cluster.consume_stats(chosen)
    members = cluster.answers(
        {
            (name, one): cluster.brokers_admin.members(name, one.addr)
            for name in chosen
            for one in cluster.asked
        }
    )
    rows = []
    for name in chosen:
        connections = [
            found for one in cluster.asked if (found := members.get((name, one))) is not None
        ]
        progress = stats[name]
        first = connections[0] if connections else ConsumerConnection()
        ids = {client.client_id for one in connections for client in one.connection_set}
        rows.append(
            {
                "group": name,
                "members": len(ids),
                "type": first.consume_type,
                "model": first.message_model,
                "topics": sorted({queue.topic or "" for queue in progress.offset_table}),
                "tps": progress.consume_tps,
                "lag": progress.compute_total_diff(),
            }
        )
    columns = ("group", "members", "type", "model", "tps", "lag", "topics")
    note = "" if rows else cluster.nothing("there is no group")
    yield Table("group", columns, rows, note, minor=("type", "model", "tps", "topics"))
