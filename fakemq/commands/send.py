"""``fakemq send``: messages to a topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from fakemq.commands.running_cluster import RunningCluster, asks_cluster, completes, topic_names

if TYPE_CHECKING:
    from fakemq.client.messages import Message


@click.command(short_help="Send messages.")
@click.argument("topic", shell_complete=completes(topic_names))
@click.argument("bodies", metavar="[BODY]...", nargs=-1)
@click.option("--tags", default="", metavar="TAG", help="The tag of each message.")
@click.option("--keys", default="", metavar="WORDS", help="Its keys, with blanks between them.")
@click.option(
    "-p", "--property", "properties", metavar="NAME=VALUE", multiple=True, help="May be repeated."
)
@click.option(
    "--delay-level", type=click.IntRange(0), default=0, metavar="N", help="Delay by this level."
)
@click.option("--delay", metavar="DURATION", help="Delay by this time; for clusters of RocketMQ 5.")
@click.option("--queue", "only", metavar="BROKER:ID", help="To this queue, not to all in turn.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each message.")
@asks_cluster
def send(
    cluster: RunningCluster,
    topic: str,
    bodies: tuple[str, ...],
    tags: str,
    keys: str,
    properties: tuple[str, ...],
    delay_level: int,
    delay: str | None,
    only: str | None,
    as_json: bool,
) -> None:
    """Send messages: each BODY, or without one each line of standard input.

    Prints where each was stored, once the broker has answered. A topic that does not exist is
    created if the broker allows it.
    """
    from fakemq.client.messages import Message
    from fakemq.clock.durations import duration_ms
    from fakemq.commands.output import Table, json_line, lines, write_line
    from fakemq.commands.tail import chosen_queues

    given = dict(_pair(one) for one in properties)
    if delay is not None:
        given["TIMER_DELAY_MS"] = str(duration_ms(delay, name="delay"))
    queue = chosen_queues(cluster, topic, only)[0] if only else None
    shown_head = False
    for body in bodies or _lines():
        message: Message = Message(
            topic, body, tags=tags, keys=keys, delay_level=delay_level, properties=given
        )
        result = cluster.client.send(message, queue=queue)
        row = {
            "status": result.status.value,
            "message_id": result.msg_id,
            "broker": result.broker_name,
            "queue_id": result.queue_id,
            "offset": result.queue_offset,
        }
        if as_json:
            write_line(json_line({"kind": "sent", **row}))
            continue
        for line in lines(Table("sent", tuple(row), [row]))[shown_head:]:
            write_line(line)
        shown_head = True


def _lines() -> Iterator[bytes]:
    import sys

    lines: Iterable[bytes] = sys.stdin.buffer
    for line in lines:
        yield line.rstrip(b"\r\n")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        from fakemq.errors import ConfigError

        raise ConfigError(f"property={text}: expected NAME=VALUE")
    return name, value
