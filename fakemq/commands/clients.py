"""``fakemq clients``: the producers and consumers that are connected."""

from __future__ import annotations

from collections.abc import Iterator

import click

from fakemq.commands.output import Table, shows
from fakemq.commands.running_cluster import RunningCluster, completes, consumer_groups


@click.command(short_help="Connected producers and consumers.")
@click.argument("names", metavar="[GROUP]...", nargs=-1, shell_complete=completes(consumer_groups))
@shows
def clients(cluster: RunningCluster, names: tuple[str, ...]) -> Iterator[Table]:
    """The connected clients by group: producers and consumers, with their subscriptions."""
    groups = set(names) or cluster.group_names()
    members = cluster.answers(
        {
            (group, one): cluster.brokers_admin.members(group, one.addr)
            for group in sorted(groups)
            for one in cluster.asked
        }
    )
    producers = cluster.answers(
        {one: cluster.brokers_admin.producers(one.addr) for one in cluster.asked}
    )
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    for (group, _), found in members.items():
        if found is None:
            continue
        subscription = [
            f"{topic}:{one.sub_string}" for topic, one in sorted(found.subscription_table.items())
        ]
        for client in found.connection_set:
            rows.setdefault(
                ("consumer", group, client.client_id),
                {
                    "role": "consumer",
                    "group": group,
                    "client_id": client.client_id,
                    "addr": client.client_addr,
                    "language": client.language,
                    "version": _version(client.version),
                    "model": found.message_model,
                    "subscription": subscription,
                },
            )
    for table in producers.values():
        for group, infos in table.data.items():
            for info in infos if not names or group in names else ():
                rows.setdefault(
                    ("producer", group, info.client_id),
                    {
                        "role": "producer",
                        "group": group,
                        "client_id": info.client_id,
                        "addr": (info.remote_ip or "").removeprefix("/"),  # Java prints one
                        "language": info.language,
                        "version": _version(info.version),
                    },
                )
    columns = ("role", "group", "client_id", "addr", "language", "version", "model", "subscription")
    note = "" if rows else cluster.nothing("no client is connected")
    if names and not rows:
        for name in names:  # of producers no broker keeps the name
            cluster.require_group(name)
        note += f" of {' or '.join(names)}"
    minor = ("version", "language", "model", "addr")
    yield Table("client", columns, list(rows.values()), note, minor=minor)


def _version(number: int) -> str:
    from fakemq.protocol.versions import VERSION_DESCRIPTIONS

    return VERSION_DESCRIPTIONS.get(number, str(number))
