"""``fakemq tail``: the last messages of a topic, and those that come."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from math import inf
from typing import TYPE_CHECKING

import click

from fakemq.commands.running_cluster import (
    RunningCluster,
    asks_cluster,
    completes,
    failures_reported,
    topic_names,
)
from fakemq.commands.said import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fakemq.client.messages import PullResult
    from fakemq.client.operation import Operation
    from fakemq.errors import FakemqError
    from fakemq.protocol.bodies.queue import MessageQueue
    from fakemq.protocol.message import MessageExt

HELD_MS = 15_000
"""How long a broker may hold a pull until a message comes."""
AGAIN_MS = 1_000
"""When a broker that did not answer is tried again, after its last failure."""
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
    if sql == "":
        raise ConfigError("sql='': expected an expression, such as \"colour = 'red'\"")
    cluster.require_topic(topic)
    queues = chosen_queues(cluster, topic, only)
    if start is None:
        count = DEFAULT_COUNT if count is None else count
        reader = TailReader(cluster, queues, tags, sql, last=count)
    else:
        reader = TailReader(cluster, queues, tags, sql, since_ms=start_ms(start))

    def show(message: MessageExt, broker: str) -> None:
        print_message(message, broker, as_json=as_json)

    # Ctrl-C is the end of --follow; without it, the command is broken off.
    with suppress(KeyboardInterrupt) if follow else nullcontext(), failures_reported(cluster):
        messages = sorted(
            reader.read_to_end(), key=lambda one: (one[0].store_timestamp_ms, one[0].queue_offset)
        )
        if count is not None:
            messages = (messages[-count:] if count else []) if start is None else messages[:count]
        for message, broker in messages:
            show(message, broker)
        note = "" if messages or follow else reader.nothing()
        if note:
            say(note)
        if follow:
            reader.follow(show)


def chosen_queues(cluster: RunningCluster, topic: str, only: str | None) -> list[MessageQueue]:
    """Return a topic's queues, or the one that is named; ConfigError if there is none."""
    from fakemq.errors import ConfigError

    queues = list(cluster.ask(cluster.client.instance.subscribe_queues(topic)))
    if only is None:
        return queues
    found = [one for one in queues if f"{one.broker_name}:{one.queue_id}" == only]
    if not found:
        there = ", ".join(f"{one.broker_name}:{one.queue_id}" for one in queues)
        raise ConfigError(f"queue={only}: {topic} has no such queue; there are: {there}")
    return found


class TailReader:
    """Reads queues by pulls, each from an offset of its own; commits nothing.

    It begins ``last`` messages before the end of each queue; without ``last`` at the first message
    that was stored at ``since_ms`` or later. Queues of a broker that does not answer are left out;
    the cluster then has a failure.
    """

    def __init__(
        self,
        cluster: RunningCluster,
        queues: list[MessageQueue],
        tags: str | None = None,
        sql: str | None = None,
        *,
        last: int | None = None,
        since_ms: int = 0,
    ) -> None:
        self._cluster = cluster
        self._queues = queues
        self._expression = sql or tags or "*"
        self._kind = "SQL92" if sql else "TAG"
        self._last = last
        self._since_ms = since_ms
        self._next: dict[MessageQueue, int] = {}
        self._end: dict[MessageQueue, int] = {}
        self._failed = self._brokers(queues) - self._brokers(
            cluster.answers({one: self._begin(one) for one in queues})
        )
        """The brokers that did not answer last time."""
        self._searched = sum(end - self._next[one] for one, end in self._end.items())
        """How many messages `read_to_end` looks at, those that a filter leaves out included."""

    @staticmethod
    def _brokers(queues: Iterable[MessageQueue]) -> set[str]:
        return {one.broker_name or "" for one in queues}

    def _begin(self, queue: MessageQueue) -> Operation[None]:
        """Find where reading of a queue begins, and its present end."""
        from fakemq.client.consuming.subscriptions import needed_key
        from fakemq.client.errors import MQBrokerError, MQClientError

        has_master = self._cluster.client.instance.routes.master_addr(queue.broker_name) is not None
        admin = self._cluster.admin
        if has_master:
            end = yield from admin.max_offset(queue)
            first = yield from admin.min_offset(queue)
        else:  # a slave answers pulls
            result = yield from self._cluster.client.consumer.pull(queue, 0, max_messages=1)
            first, end = result.min_offset, result.max_offset
        if self._kind == "SQL92":
            # A pull with an expression that the broker cannot read would return every message.
            consumer = self._cluster.client.consumer
            try:
                yield from consumer.check_expression(queue, self._expression, self._kind)
            except MQBrokerError as error:
                raise MQClientError(f"{error}{needed_key(error)}", error.code) from error
        begin = 0
        if self._last is not None:
            begin = end - self._last
        elif self._since_ms and has_master:
            begin = yield from admin.search_offset(queue, self._since_ms)
        self._next[queue], self._end[queue] = max(first, begin), end

    def read_to_end(self) -> list[tuple[MessageExt, str]]:
        """Return what is stored from where reading begins to the ends at the start."""
        found = []
        open_queues = [one for one in self._next if self._next[one] < self._end[one]]
        while open_queues:
            results = self._cluster.answers({one: self._pull(one) for one in open_queues})
            self._failed |= self._brokers(open_queues) - self._brokers(results)
            for queue, result in results.items():
                found += [
                    (message, queue.broker_name or "")
                    for message in self._wanted(result)
                    if message.queue_offset < self._end[queue]
                ]
                # A broker that moves a reader back would hold it for ever.
                self._next[queue] = max(result.next_begin_offset, self._next[queue] + 1)
            open_queues = [one for one in results if self._next[one] < self._end[one]]
        self._next = {one: min(self._next[one], self._end[one]) for one in self._next}
        return found

    def nothing(self) -> str:
        """Return why there is no message to show; "" if a broker did not answer."""
        from fakemq.errors import counted

        if self._failed:
            return ""
        if self._searched and self._expression != "*":
            return f"none of {counted(self._searched, 'message')} matches {self._expression!r}"
        return "there is no message" + (" since then" if self._since_ms else "")

    def _wanted(self, result: PullResult) -> list[MessageExt]:
        # A broker searches no later than for the last message.
        return [one for one in result.messages if one.store_timestamp_ms >= self._since_ms]

    def follow(self, on_message: Callable[[MessageExt, str], None]) -> None:
        """Call ``on_message`` with each message that comes, until the caller is interrupted.

        A line on stderr says when a broker does not answer, and when it answers again. Until then
        one of its queues is tried now and then.
        """
        from functools import partial

        from fakemq.clock.machine_time import real_elapsed_ms
        from fakemq.errors import FakemqError

        for text in self._cluster.take_failures():
            _warn_trying(text)
        parallel = self._cluster.client.parallel()
        done: list[tuple[MessageQueue, PullResult | FakemqError]] = []

        def keep(queue: MessageQueue, result: PullResult | FakemqError) -> None:
            done.append((queue, result))

        idle = list(self._queues)
        again_at_ms: dict[str, float] = dict.fromkeys(self._failed, 0)
        while True:
            for queue in idle[:]:
                broker = queue.broker_name or ""
                failed = broker in again_at_ms
                if failed and again_at_ms[broker] > real_elapsed_ms():
                    continue
                idle.remove(queue)
                if failed:
                    again_at_ms[broker] = inf  # until this one try has ended
                fresh = failed or queue not in self._next
                pull = self._pull_now(queue) if fresh else self._pull(queue, suspend_ms=HELD_MS)
                parallel.start(pull, partial(keep, queue))
            if not done:
                parallel.wait(timeout_ms=AGAIN_MS)
            for queue, result in done:
                broker = queue.broker_name or ""
                idle.append(queue)
                if isinstance(result, FakemqError):
                    if broker not in again_at_ms:
                        addr = getattr(result, "addr", "")
                        _warn_trying(self._cluster.with_name(addr, result))
                    again_at_ms[broker] = real_elapsed_ms() + AGAIN_MS
                    continue
                if again_at_ms.pop(broker, None) is not None:
                    say(f"{broker} answers again")
                for message in self._wanted(result):
                    on_message(message, broker)
                self._next[queue] = result.next_begin_offset
            done.clear()

    def _pull_now(self, queue: MessageQueue) -> Operation[PullResult]:
        """Pull from a broker that did not answer before; it must not hold the answer."""
        yield from self._cluster.client.instance.update_route(
            queue.topic or ""
        )  # it may have moved
        if queue not in self._next:
            yield from self._begin(queue)
        return (yield from self._pull(queue))

    def _pull(self, queue: MessageQueue, *, suspend_ms: int = 0) -> Operation[PullResult]:
        client = self._cluster.client
        return client.consumer.pull(
            queue,
            self._next[queue],
            expression=self._expression,
            expression_type=self._kind,
            suspend_ms=suspend_ms,
            timeout_ms=suspend_ms + client.instance.config.api_timeout_ms,
        )


def _warn_trying(text: str) -> None:
    say(f"Warning: {text}; trying again")


def start_ms(text: str) -> int:
    """Return a time as milliseconds: an instant, a duration before now, or 0 for "first"."""
    from fakemq.clock.durations import duration_ms, instant_ms
    from fakemq.clock.machine_time import real_wall_ms
    from fakemq.errors import ConfigError

    if text == "first":
        return 0
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
    from fakemq.commands.found_message import body_text, message_row, own_properties
    from fakemq.commands.output import cell, is_terminal, json_line, time_text, write_line

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
