"""A command that looks at a cluster asks a slave of a broker while no master is registered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import fakemq
from fakemq.client.blocking import Client
from tests.support.command_line import rows, run


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(slaves=1, role="SYNC_MASTER", topics={"orders": 1}, clock="frozen") as mq:
        mq.seed("orders", ["tea", "milk"])
        with Client(mq.namesrv_addr, consumer_group="billing") as client:
            client.subscribe("orders", "*")
            client.heartbeat()
            (queue,) = client.subscribe_queues("orders")
            client.update_offset(queue, 1, oneway=False)
            mq.clock.advance("11s")  # the slave asks for its master's offsets every 10 s
            mq.broker("broker-a").kill()
            client.heartbeat()
            yield mq


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["topics"], {"topic": "orders", "queues": 1, "messages": 2}),
        (["queues", "orders"], {"broker": "broker-a", "messages": 2}),
        (["groups"], {"group": "billing", "lag": 1}),
        (["lag", "billing"], {"topic": "orders", "consumer_offset": 1, "lag": 1}),
        (["clients"], {"role": "consumer", "group": "billing"}),
        (["brokers"], {"broker": "broker-a", "id": 1}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_slave_is_asked(mq: fakemq.Cluster, args: list[str], shown: dict[str, Any]) -> None:
    found = rows(*args, "-n", mq.namesrv_addr)
    assert [row for row in found if shown.items() <= row.items()]


@pytest.mark.parametrize(
    ("start", "bodies"),
    [
        ([], ["tea", "milk"]),
        (["-c", "1"], ["milk"]),
        (["--from", "first"], ["tea", "milk"]),
        (["--from", "2h"], ["tea", "milk"]),
        (["--from", "2099-01-01"], []),
    ],
    ids=str,
)
def test_tail_reads_from_the_slave(mq: fakemq.Cluster, start: list[str], bodies: list[str]) -> None:
    found = rows("tail", "orders", *start, "-n", mq.namesrv_addr)
    assert [message["body"] for message in found] == bodies


@pytest.mark.parametrize(
    ("command", "empty"),
    [
        ("topics", "there is no topic"),
        ("groups", "there is no group"),
        ("clients", "no client is connected"),
    ],
)
def test_empty_table_says_why(command: str, empty: str) -> None:
    with fakemq.Cluster() as mq:
        assert run(command, "-n", mq.namesrv_addr).stdout.splitlines()[-1] == empty
        assert rows(command, "-n", mq.namesrv_addr) == []
        mq.broker("broker-a").kill()
        for one in (command, "brokers"):
            (line,) = run(one, "-n", mq.namesrv_addr).stdout.splitlines()
            assert line == "no broker is registered at the name server"
