"""What ``fakemq serve`` shows on a terminal, and that a pipe gets the ready line alone."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

import fakemq
from fakemq.clock.slices import Steps, finished
from fakemq.commands import live_summary
from fakemq.commands.live_summary import Look, Show, _plain_summary, hints, tables, watch
from fakemq.commands.output import Table
from fakemq.core.cluster import ClusterCore
from fakemq.core.overview import Overview, overview
from fakemq.serving.ready import ReadyInfo

FREE = ("--namesrv-port", "0", "--broker-port", "0")


WITHOUT_RICH = "import sys; sys.modules['rich'] = None; from fakemq.cli import main; main()"


@contextmanager
def served_on_a_terminal(*args: str, rich: bool = True) -> Iterator[int]:
    """A served cluster whose output is a terminal; returns the descriptor to read."""
    ours, theirs = pty.openpty()
    command = [sys.executable, *(("-m", "fakemq") if rich else ("-c", WITHOUT_RICH)), *FREE, *args]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    try:
        yield ours
    finally:
        process.send_signal(signal.SIGTERM)
        while read(ours):
            pass
        assert process.wait(30) == 0
        os.close(ours)


def read(descriptor: int) -> str:
    try:
        return os.read(descriptor, 1 << 16).decode()
    except OSError:  # the other end is closed
        return ""


def read_until(descriptor: int, words: str) -> str:
    text = ""
    while words not in text:
        part = read(descriptor)
        assert part, text
        text += part
    return text


@pytest.mark.slow  # a process of its own
@pytest.mark.parametrize("rich", [True, False], ids=["rich", "without rich"])
def test_terminal_shows_how_to_connect_and_what_happens(rich: bool) -> None:
    if rich:
        pytest.importorskip("rich")
    with served_on_a_terminal("--topic", "orders:4", rich=rich) as terminal:
        text = read_until(terminal, "connections")
    addr = re.search(r"fakemq ready: namesrv (\S+),", text)
    assert addr is not None
    assert f'Producer("{addr[1]}", group="g")' in text
    assert f'setNamesrvAddr("{addr[1]}")' in text
    assert f'WithNameServer([]string{{"{addr[1]}"}})' in text
    assert "orders" in text


@pytest.mark.slow  # a process of its own
def test_quiet_terminal_shows_the_ready_line_alone() -> None:
    with served_on_a_terminal("--quiet") as terminal:
        line = read_until(terminal, "\n")
    assert re.fullmatch(r"fakemq ready: namesrv \S+, brokers broker-a-0 \S+ \(pid \d+\)\r\n", line)


@pytest.mark.slow  # a process of its own
def test_pipe_gets_the_ready_line_alone() -> None:
    command = [sys.executable, "-m", "fakemq", *FREE]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as one:
        assert one.stdout is not None
        line = one.stdout.readline()
        one.send_signal(signal.SIGTERM)
        rest, errors = one.communicate(timeout=30)
    assert line.startswith("fakemq ready: namesrv ")
    assert (rest, errors, one.returncode) == ("", "", 0)


def test_summary_has_rates_since_the_look_before() -> None:
    with fakemq.Cluster(topics={"orders": 1, "bills": 1}) as mq:
        mq.seed("orders", ["one"])
        before = Look(1_000, mq.inspect(overview))
        mq.seed("orders", ["two", "three"])
        consumer = mq.consumer(group="billing", subscribe="orders", consume_from="first")
        mq.settle()
        now = Look(3_000, mq.inspect(overview))
        assert len(consumer.received) == 3
    topics, groups = tables(now, before)
    assert topics.rows[0] == {"topic": "orders", "queues": 1, "messages": 3, "per_second": 1.0}
    assert [row["topic"] for row in topics.rows] == ["orders", "bills"]
    assert (groups.rows[0]["group"], groups.rows[0]["members"]) == ("billing", 1)
    assert all(row["per_second"] == 0 for row in tables(before, None)[0].rows)


def test_summary_has_the_busiest_of_many_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[list[Table]] = []

    @contextmanager
    def screen() -> Iterator[Show]:
        yield shown.append

    async def carry_out(steps: Steps[Overview]) -> Overview:
        return finished(steps)

    def look(core: ClusterCore) -> None:
        server: Any = SimpleNamespace(core=core, carry_out=carry_out)
        watching = watch(server, ReadyInfo(namesrv="a:1", cluster="c", pid=1))
        watching.send(None)  # up to the pause after the first look
        watching.close()

    monkeypatch.setattr(live_summary, "_summary", screen)
    names = [f"topic-{number:03}" for number in range(300)]
    with fakemq.Cluster(topics=dict.fromkeys([*names, "zzz"], 1)) as mq:
        mq.seed("zzz", ["x"])
        mq.inspect(look)
    topics = shown[0][0]
    assert topics.rows[0]["topic"] == "zzz"
    assert "293 more topics" in topics.note


def test_summary_without_rich_takes_the_place_of_the_one_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = Table("topic", ("topic",), [{"topic": "orders"}], "1 connection")
    with _plain_summary() as show:
        show([shown])
        assert capsys.readouterr().out == "\ntopic\norders\n1 connection\n"
        show([shown._replace(note="")])
        assert capsys.readouterr().out == "\x1b[4F\x1b[J\ntopic\norders\n"
    assert capsys.readouterr().out == "\x1b[3F\x1b[J"


def test_hints_name_all_ports() -> None:
    info = ReadyInfo(
        namesrv="a:1;b:2", cluster="c", pid=1, control="http://127.0.0.1:9080", grpc="h:8081"
    )
    text = "\n".join(hints(info))
    assert 'ClientConfiguration("h:8081", Credentials()), Java setEndpoints("h:8081")' in text
    assert "gRPC" not in "\n".join(hints(ReadyInfo(namesrv="a:1", cluster="c", pid=1)))
    assert 'WithNameServer([]string{"a:1", "b:2"})' in text
    assert "http://127.0.0.1:9080/" in text
