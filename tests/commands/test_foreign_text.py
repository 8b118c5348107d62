"""What a hostile peer or message says reaches the terminal as text, and controls nothing."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fakemq
from fakemq import commands
from fakemq.cli import main
from fakemq.client.blocking import Client
from fakemq.client.messages import Message
from fakemq.commands.output import json_line, write_line
from fakemq.commands.said import say
from tests.support.command_line import run

HOSTILE = "\x1b]0;pwned\x07 \x9b2J \x7f \u202e \r"
"""Sets the title of a terminal, clears it, deletes, turns the direction, goes to the line's begin.
"""
ASKED = (
    *("GET_ROUTEINFO_BY_TOPIC", "GET_ALL_TOPIC_LIST_FROM_NAMESERVER", "GET_BROKER_CLUSTER_INFO"),
    *("GET_TOPIC_STATS_INFO", "GET_CONSUME_STATS", "GET_CONSUMER_CONNECTION_LIST"),
    *("GET_BROKER_RUNTIME_INFO", "GET_ALL_SUBSCRIPTIONGROUP_CONFIG", "GET_MAX_OFFSET"),
    *("PULL_MESSAGE", "QUERY_MESSAGE"),
)


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics={"orders": 1}) as cluster:
        cluster.seed("orders", ["one"])
        with Client(cluster.namesrv_addr, consumer_group="billing") as client:
            client.subscribe("orders", "*")
            client.heartbeat()
            properties = {f"name{HOSTILE}": HOSTILE}
            message = Message("orders", HOSTILE, tags=HOSTILE, keys="k", properties=properties)
            client.send(message)
            yield cluster


def ways(mq: fakemq.Cluster) -> list[list[str]]:
    newest = mq.messages("orders")[-1]
    return [
        *(["topics"], ["topics", "orders"], ["queues", "orders"], ["groups"], ["clients"]),
        *(["lag", "billing"], ["brokers"], ["tail", "orders"], ["tail", "orders", "--json"]),
        *(["browse", newest.msg_id], ["trace", newest.msg_id, "--topic", "orders"]),
        ["send", "orders", "body"],
    ]


def require_plain(text: str) -> None:
    for line in text.split("\n"):
        assert line.replace("\t", "").isprintable(), repr(line)


@pytest.mark.parametrize("number", range(12))
def test_hostile_message_is_shown_as_text(mq: fakemq.Cluster, number: int) -> None:
    done = CliRunner().invoke(main, [*ways(mq)[number], "-n", mq.namesrv_addr])
    require_plain(done.stdout)
    require_plain(done.stderr)
    if "tail" in ways(mq)[number]:
        assert "pwned" in done.stdout


@pytest.mark.parametrize("asked", ASKED)
def test_hostile_remark_is_shown_as_text(mq: fakemq.Cluster, asked: Any) -> None:
    seen = 0
    with mq.faults.error(asked, code=1, remark=f"{HOSTILE}\nsecond line", must_fire=False):
        for words in ways(mq):
            done = CliRunner().invoke(main, [*words, "-n", mq.namesrv_addr, "--timeout", "1s"])
            require_plain(done.stdout)
            require_plain(done.stderr)
            seen += "pwned" in done.stderr
    assert seen


def test_hostile_names_are_shown_as_text(mq: fakemq.Cluster) -> None:
    body = json.dumps({"topicList": ["orders", f"x{HOSTILE}"]})
    with mq.faults.reply("GET_ALL_TOPIC_LIST_FROM_NAMESERVER", body=body, must_fire=False):
        done = run("topics", "-n", mq.namesrv_addr)
        require_plain(done.stdout + done.stderr)


def test_lines_stay_lines_and_json_stays_json(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"text": f"{HOSTILE}\U000e0001", "plain": "é\t"}
    write_line(json_line(row))
    out = capsys.readouterr().out
    require_plain(out)
    assert json.loads(out) == row
    say(f"one {HOSTILE}\ntwo")
    require_plain(capsys.readouterr().err)


OWN_TEXT = {"completion", "replay", "table", "server_options", "live_summary", "said", "output"}
"""Modules that print by click what no peer says, or escape it themselves."""
CELLS = {"tail", "decode"}
"""Those that style cells, which have no control characters."""


def test_commands_print_by_the_two_doors() -> None:
    found = set()
    for path in Path(commands.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                *("click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write"),
            ):
                found.add(path.stem)
    assert found <= OWN_TEXT | CELLS
