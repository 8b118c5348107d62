"""``fakemq browse``: one message with all its fields."""

from __future__ import annotations

from collections.abc import Iterator

import click

from fakemq.commands.output import Table, shows
from fakemq.commands.running_cluster import RunningCluster


@click.command(short_help="One message with all its fields.")
@click.argument("message_id", metavar="ID")
@click.option("--topic", metavar="NAME", help="Look for a unique id only in this topic.")
@shows
def browse(cluster: RunningCluster, message_id: str, topic: str | None) -> Iterator[Table]:
    """One message with its place, times, properties and body.

    ID is a unique id, which producers print, or an offset id. Without --topic every topic is
    asked for a unique id.
    """
    from fakemq.commands.found_message import broker_of, found_message, message_row
    from fakemq.commands.output import as_fields

    message = found_message(cluster, message_id, topic)
    yield as_fields("message", message_row(message, broker_of(cluster, message)))
