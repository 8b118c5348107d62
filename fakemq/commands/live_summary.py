"""What ``fakemq serve`` shows on a terminal: how to connect, then clients, topics and rates."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.commands.output import Table, console, drawn, lines
from fakemq.core.overview import Overview, overview_steps
from fakemq.errors import FakemqError, counted

if TYPE_CHECKING:
    from fakemq.serving.ready import ReadyInfo
    from fakemq.serving.server import ClusterServer

EVERY_S = 1.0
MOST_ROWS = 8
"""How many topics and how many groups are shown, the busiest first."""


class Look(NamedTuple):
    """The cluster at a moment of real time."""

    at_ms: int
    seen: Overview


async def watch(server: ClusterServer, info: ReadyInfo) -> None:
    """Print how to connect; then show a summary, anew each second, until the caller cancels it."""
    for line in hints(info):
        click.echo(line)
    before: Look | None = None
    with _summary() as show:
        while True:
            # All of them: which are the busiest is known only once all are summed up.
            steps = overview_steps(server.core, most=None)
            with suppress(FakemqError):  # a reset meanwhile; the next look shows what is left
                now = Look(real_elapsed_ms(), await server.carry_out(steps))
                show([one for one in tables(now, before) if one.rows or one.note])
                before = now
            await asyncio.sleep(EVERY_S)


Show = Callable[[list[Table]], None]


@contextmanager
def _summary() -> Iterator[Show]:
    """Give a function that shows tables in the place of those before; at the end they are gone."""
    screen = console()
    if screen is None:
        with _plain_summary() as show:
            yield show
        return
    from rich.console import Group
    from rich.live import Live

    # Warnings that are logged meanwhile are written above the summary.
    with Live(console=screen, auto_refresh=False, transient=True) as live:
        yield lambda shown: live.update(
            Group(*(drawn(one, screen.width) for one in shown)), refresh=True
        )


@contextmanager
def _plain_summary() -> Iterator[Show]:
    """Do the same without rich: go back to the first line of the tables before, and clear."""
    height = 0

    def show(shown: list[Table]) -> None:
        nonlocal height
        width = shutil.get_terminal_size().columns - 1
        texts = [line[:width] for one in shown for line in ("", *lines(one, aligned=True))]
        back = f"\x1b[{height}F\x1b[J" if height else ""
        click.echo(back + "".join(f"{text}\n" for text in texts), nl=False, color=True)
        height = len(texts)

    try:
        yield show
    finally:
        show([])


def hints(info: ReadyInfo) -> list[str]:
    """Return how programs connect, in the languages of the clients that are tested."""
    addr = info.namesrv or "HOST:9876"
    go = ", ".join(f'"{one}"' for one in addr.split(";"))
    grpc = []
    if info.grpc is not msgspec.UNSET:
        python = f'ClientConfiguration("{info.grpc}", Credentials())'
        grpc = [f'  gRPC    Python {python}, Java setEndpoints("{info.grpc}")']
    lines = [
        f'  Python  from fakemq.client import Producer; Producer("{addr}", group="g")',
        f'  Java    new DefaultMQProducer("g").setNamesrvAddr("{addr}")',
        f"  Go      producer.WithNameServer([]string{{{go}}})",
        *grpc,
        f"  look    fakemq topics -n '{addr}'; fakemq tail TOPIC -f -n '{addr}'",
    ]
    if info.control is not None:
        lines.append(f"  page    {info.control}/")
    return lines


def tables(now: Look, before: Look | None) -> list[Table]:
    """Return the busiest topics and groups, with rates since the look before."""
    seen, earlier = now.seen, before.seen if before else None
    past_s = max(now.at_ms - before.at_ms, 1) / 1000 if before else 0.0
    written = {one.name: one.written for one in earlier.topics} if earlier else {}
    consumed = {one.name: one.consumed for one in earlier.groups} if earlier else {}

    def rate(name: str, value: int, past: dict[str, int]) -> float:
        # After a reset there is less than before.
        return max(0, value - past.get(name, value)) / past_s if past_s else 0.0

    topics = [
        {
            "topic": one.name,
            "queues": one.queues,
            "messages": one.messages,
            "per_second": rate(one.name, one.written, written),
        }
        for one in seen.topics
        if not one.system
    ]
    groups = [
        {
            "group": one.name,
            "members": one.members,
            "lag": one.lag,
            "per_second": rate(one.name, one.consumed, consumed),
        }
        for one in seen.groups
    ]
    return [
        Table(
            "topic",
            ("topic", "queues", "messages", "per_second"),
            _busiest(topics, "messages"),
            _rest(counted(seen.connections, "connection"), len(topics), "topics"),
            minor=("queues",),
        ),
        Table(
            "group",
            ("group", "members", "lag", "per_second"),
            _busiest(groups, "lag"),
            _rest("", len(groups), "groups"),
            minor=("members",),
        ),
    ]


def _busiest(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (-row["per_second"], -row[name]))[:MOST_ROWS]


def _rest(text: str, count: int, what: str) -> str:
    more = f"{count - MOST_ROWS} more {what}" if count > MOST_ROWS else ""
    return ", ".join(part for part in (text, more) if part)
