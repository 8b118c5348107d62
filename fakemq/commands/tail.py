"""``fakemq tail``: the last messages of a topic, and those that come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fakemq.commands.running_cluster import RunningCluster, asks_cluster, completes, topic_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.client.messages import PullResult
    from fakemq.client.operation import Operation
    from fakemq.errors import FakemqError
    from fakemq.protocol.bodies.queue import MessageQueue
    from fakemq.protocol.message import MessageExt

HELD_MS = 15_000
"""How long a broker may hold a pull until a message comes."""
AGAIN_MS = 1_000
"""When a queue whose broker failed is pulled again."""
DEFAULT_COUNT = 10


@click.command(short_help="The last messages of a topic, and new ones.")
@click.argument("topic", shell_complete=completes(topic_names))
@click.option(
    "-c",
    "--count",
    type=click.IntRange(0),
    metavar="N",
    help=f"The number of messages.  [default: {DEFAULT_COUNT}; with --from all]",
)
@click.option(
    "--from",
    "start",
    metavar="first|TIME|DURATION",
    help="Where to begin: the first stored message, a time such as 2024-05-01T10:00, or how long"
    " ago, such as 10m.",
)
@click.option("-f", "--follow", is_flag=True, help="Continue with new messages; Ctrl-C ends.")
@click.option("--tags", metavar="EXPRESSION", help="Only these tags, such as 'paid || late'.")
@click.option("--sql", metavar="EXPRESSION", help="Only messages that this SQL92 filter selects.")
@click.option("--queue", "only", metavar="BROKER:ID", help="Only this queue.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each message.")
@asks_cluster
def tail(
    cluster: RunningCluster,
    topic: str,
    count: int | None,
    start: str | None,
    follow: bool,
    tags: str | None,
    sql: str | None,
    only: str | None,
    as_json: bool,
) -> None:
    """The last messages of a topic, in the order of their storing.

    Reads without a group's offsets, so it takes no message from any consumer. A filter selects
    among the last N messages of each queue.
    """
    from fakemq.errors import ConfigError

    if tags is not None and sql is not None:
        raise ConfigError("give --tags or --sql, not both")
    cluster.require_topic(topic)
    reader = Reader(cluster, chosen_queues(cluster, topic, only), tags, sql)
    if start is None:
        count = DEFAULT_COUNT if count is None else count
        reader.begin_before_end(count)
    else:
        reader.begin_at(start)
    messages = sorted(
        reader.read_to_end(), key=lambda one: (one[0].store_timestamp_ms, one[0].queue_offset)
    )
    if count is not None:
        messages = (messages[-count:] if count else []) if start is None else messages[:count]
    for message, broker in messages:
        print_message(message, broker, as_json=as_json)
    if follow:
        try:
            reader.follow(lambda message, broker: print_message(message, broker, as_json=as_json))
        except KeyboardInterrupt:
            return


def chosen_queues(cluster: RunningCluster, topic: str, only: str | None) -> list[MessageQueue]:
    """Return a topic's queues, or the one that is named; ConfigError if there is none."""
    from fakemq.errors import ConfigError

    queues = list(cluster.client.subscribe_queues(topic))
    if only is None:
        return queues
    found = [one for one in queues if f"{one.broker_name}:{one.queue_id}" == only]
    if not found:
        there = ", ".join(f"{one.broker_name}:{one.queue_id}" for one in queues)
        raise ConfigError(f"queue={only}: {topic} has no such queue; there are: {there}")
    return found


class Reader:
    """Reads queues by pulls, each from an offset of its own; commits nothing."""

    def __init__(
        self,
        cluster: RunningCluster,
        queues: list[MessageQueue],
        tags: str | None = None,
        sql: str | None = None,
    ) -> None:
        self._cluster = cluster
        self._expression = sql or tags or "*"
        self._since_ms = 0
        self._kind = "SQL92" if sql else "TAG"
        self._ends = cluster.all_ok({one: cluster.admin.max_offset(one) for one in queues})
        self._first = cluster.all_ok({one: cluster.admin.min_offset(one) for one in queues})
        self._next = dict(self._first)
        if sql:
            # A pull with an expression that the broker cannot read would return every message.
            cluster.client.check_expression(queues[0], sql, "SQL92")

    def begin_before_end(self, count: int) -> None:
        """Begin ``count`` messages before the end of each queue."""
        self._next = {one: max(self._first[one], end - count) for one, end in self._ends.items()}

    def begin_at(self, start: str) -> None:
        """Begin at the first message, or at the first one since a time or a duration ago."""
        if start == "first":
            self._next = dict(self._first)
            return
        self._since_ms = at_ms = start_ms(start)
        admin = self._cluster.admin
        found = self._cluster.all_ok({one: admin.search_offset(one, at_ms) for one in self._next})
        self._next = {one: max(found[one], self._first[one]) for one in found}

    def read_to_end(self) -> list[tuple[MessageExt, str]]:
        """Return what is stored from where reading begins to the ends at the start."""
        found = []
        open_queues = [one for one in self._next if self._next[one] < self._ends[one]]
        while open_queues:
            results = self._cluster.all_ok(
                {one: self._pull(one, suspend_ms=0) for one in open_queues}
            )
            for queue, result in results.items():
                found += [
                    (message, queue.broker_name or "")
                    for message in result.messages
                    if message.queue_offset < self._ends[queue]
                    # A broker searches no later than for the last message.
                    and message.store_timestamp_ms >= self._since_ms
                ]
                # A broker that moves a reader back would hold it for ever.
                self._next[queue] = max(result.next_begin_offset, self._next[queue] + 1)
            open_queues = [one for one in open_queues if self._next[one] < self._ends[one]]
        self._next = {one: min(self._next[one], self._ends[one]) for one in self._next}
        return found

    def follow(self, on_message: Callable[[MessageExt, str], None]) -> None:
        """Call ``on_message`` with each message that comes, until the caller is interrupted."""
        from functools import partial

        from fakemq.clock.machine_time import real_elapsed_ms
        from fakemq.errors import FakemqError

        parallel = self._cluster.client.parallel()
        done: list[tuple[MessageQueue, PullResult | FakemqError]] = []

        def keep(queue: MessageQueue, result: PullResult | FakemqError) -> None:
            done.append((queue, result))

        due_ms = dict.fromkeys(self._next, 0)
        while True:
            now_ms = real_elapsed_ms()
            for queue in [one for one, at_ms in due_ms.items() if at_ms <= now_ms]:
                del due_ms[queue]
                parallel.start(self._pull(queue, suspend_ms=HELD_MS), partial(keep, queue))
            if not done:
                parallel.wait(timeout_ms=AGAIN_MS)
            now_ms = real_elapsed_ms()
            for queue, result in done:
                if isinstance(result, FakemqError):
                    click.echo(f"Warning: {result}; trying again", err=True)
                    due_ms[queue] = now_ms + AGAIN_MS
                    continue
                for message in result.messages:
                    on_message(message, queue.broker_name or "")
                self._next[queue] = result.next_begin_offset
                due_ms[queue] = now_ms
            done.clear()

    def _pull(self, queue: MessageQueue, *, suspend_ms: int) -> Operation[PullResult]:
        return self._cluster.client.consumer.pull(
            queue,
            self._next[queue],
            expression=self._expression,
            expression_type=self._kind,
            suspend_ms=suspend_ms,
        )


def start_ms(text: str) -> int:
    """Return a time as milliseconds: an instant, or a duration before now."""
    from fakemq.clock.durations import duration_ms, instant_ms
    from fakemq.clock.machine_time import real_wall_ms
    from fakemq.errors import ConfigError

    try:
        return max(0, real_wall_ms() - abs(duration_ms(text)))
    except ConfigError:
        pass
    try:
        return instant_ms(text)
    except ConfigError:
        raise ConfigError(
            f"from={text}: expected first, a time such as 2024-05-01T10:00, or a duration such as"
            " 10m"
        ) from None


def print_message(message: MessageExt, broker: str, *, as_json: bool) -> None:
    """Print one message as a line: when and where it was stored, its tags, keys and body."""
    from fakemq.commands.output import cell, is_terminal, json_line, time_text, write_line
    from fakemq.commands.shown_message import body_text, message_row, own_properties

    if as_json:
        write_line(json_line({"kind": "message", **message_row(message, broker)}))
        return
    text = body_text(message.body)
    about = [f"tags={message.tags}"] if message.tags else []
    about += [f"keys={message.keys}"] if message.keys else []
    about += [f"{name}={value}" for name, value in own_properties(message).items()]
    head = (
        time_text(message.store_timestamp_ms),
        cell("", f"{broker}:{message.queue_id}:{message.queue_offset}"),
    )
    tail = (
        cell("", message.msg_id),
        cell("", " ".join(about)),
        cell("", text if text is not None else f"0x{message.body.hex()}"),
    )
    if not is_terminal():
        write_line("\t".join((*head, *tail)))
        return
    styled = (click.style(head[0], fg="cyan"), click.style(head[1], fg="green"))
    line = (*styled, click.style(tail[0], dim=True), click.style(tail[1], fg="yellow"), tail[2])
    click.echo("  ".join(part for part in line if part))
