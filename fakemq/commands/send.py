"""``fakemq send``: messages to a topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from fakemq.commands.running_cluster import RunningCluster, asks_cluster, completes, topic_names
from fakemq.commands.said import say

if TYPE_CHECKING:
    from fakemq.client.messages import Message


@click.command(short_help="Send messages.")
@click.argument("topic", shell_complete=completes(topic_names))
@click.argument("bodies", metavar="[BODY]...", nargs=-1)
@click.option("--tags", default="", metavar="TAG", help="The tag of each message.")
@click.option("--keys", default="", metavar="WORDS", help="Its keys, with blanks between them.")
@click.option(
    "-p",
    "--property",
    "properties",
    metavar="NAME=VALUE",
    multiple=True,
    help="A property. May be repeated.",
)
@click.option(
    "--delay-level", type=click.IntRange(0), default=0, metavar="N", help="Delay by this level."
)
@click.option(
    "--delay",
    metavar="DURATION",
    help="Delay by this time; before RocketMQ 5 one of the broker's levels, such as 30s or 10m.",
)
@click.option("--create", is_flag=True, help="Create a topic whose name is almost like another's.")
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
    create: bool,
    only: str | None,
    as_json: bool,
) -> None:
    """Send messages: each BODY, or without one each line of standard input that is not empty.

    Prints where each was stored, once the broker has answered. A topic that does not exist is
    created if the broker allows it, unless its name is almost like that of another.
    """
    from fakemq.client.messages import Message
    from fakemq.commands.output import Table, is_terminal, json_line, lines, write_line
    from fakemq.commands.tail import chosen_queues
    from fakemq.errors import ConfigError, FakemqError, counted

    given = dict(_pair(one) for one in properties)
    if delay is not None:
        if delay_level:
            raise ConfigError("give --delay or --delay-level, not both")
        delay_level, timer = _delay(cluster, delay)
        given |= timer
    if not create:
        cluster.require_no_mistake(topic)
    queue = chosen_queues(cluster, topic, only)[0] if only else None
    shown_head = False
    every: Iterable[bytes | str] = bodies or _lines()
    for number, body in enumerate(every, 1):
        message: Message = Message(
            topic, body, tags=tags, keys=keys, delay_level=delay_level, properties=given
        )
        try:
            result = cluster.client.send(message, queue=queue)
        except FakemqError:
            if number > 1:
                before = counted(number - 1, "message")
                say(f"{body[:40]!r} failed; stored before it: {before}")
            raise
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
        for line in lines(Table("sent", tuple(row), [row]), aligned=is_terminal())[shown_head:]:
            write_line(line)
        shown_head = True


def _delay(cluster: RunningCluster, delay: str) -> tuple[int, dict[str, str]]:
    """Return the delay level, and the properties, that delay a message at this cluster.

    Brokers before RocketMQ 5 deliver a message with a time of its own at once.
    """
    from fakemq.client.errors import MQClientError
    from fakemq.client.messages import level_of
    from fakemq.clock.durations import duration_ms

    delay_ms = duration_ms(delay, name="delay")
    infos = cluster.answers(
        {one: cluster.brokers_admin.runtime_info(one.addr) for one in cluster.asked}
    )
    failures = cluster.take_failures()
    if failures and not infos:
        raise MQClientError(f"delay={delay}: no broker says its release: {failures[0]}")
    releases = [str(one.get("brokerVersionDesc")) for one in infos.values()]
    if any(release.startswith(("V3_", "V4_")) for release in releases):
        return level_of(delay), {}
    return 0, {"TIMER_DELAY_MS": str(delay_ms)}


def _lines() -> Iterator[bytes]:
    import sys

    if sys.stdin.isatty():
        say("Each line is a message; Ctrl-D ends.")
    lines: Iterable[bytes] = sys.stdin.buffer
    for number, line in enumerate(lines, 1):
        body = line.rstrip(b"\r\n")
        if body:
            yield body
        else:
            say(f"line {number} is empty: skipped, as no message has an empty body")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        from fakemq.errors import ConfigError

        raise ConfigError(f"property={text}: expected NAME=VALUE")
    return name, value
