"""Numbers of the caller: one that fits no field is a ConfigError, and nothing is sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fakemq
from fakemq.client import Client, Message
from fakemq.errors import ConfigError
from fakemq.events.core import RequestHandled
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.headers.offset import SearchOffsetRequestHeader

QUEUE = MessageQueue("orders", "broker-a", 0)
FAR = MessageQueue("orders", "broker-a", 1 << 31)
INT, LONG = 1 << 31, 1 << 63
Act = Callable[[Client, int], object]


def group(retry_max_times: Any) -> SubscriptionGroupConfig:
    return SubscriptionGroupConfig(group_name="billing", retry_max_times=retry_max_times)


WRONG: dict[str, tuple[str, int, Act]] = {
    "send, flag": ("flag", INT, lambda c, n: c.send(Message("orders", "x", flag=n))),
    "oneway, flag": ("flag", -INT - 1, lambda c, n: c.send_oneway(Message("orders", "x", flag=n))),
    "batch, flag": ("flag", INT, lambda c, n: c.send_batch([Message("orders", "x", flag=n)])),
    "send, queue": ("queue_id", INT, lambda c, _: c.send(Message("orders", "x"), queue=FAR)),
    "send, time": (
        "timeout_ms", INT, lambda c, n: c.send(Message("orders", "x"), queue=QUEUE, timeout_ms=n)
    ),
    "pull, offset": ("queue_offset", LONG, lambda c, n: c.pull(QUEUE, n)),
    "pull, number": ("max_msg_nums", INT, lambda c, n: c.pull(QUEUE, 0, max_messages=n)),
    "pull, suspended": ("timeout_ms", INT, lambda c, n: c.pull(QUEUE, 0, suspend_ms=n - 15_000)),
    "commit": ("commit_offset", LONG, lambda c, n: c.update_offset(QUEUE, n)),
    "search": ("timestamp", -LONG - 1, lambda c, n: c.search_offset(QUEUE, n)),
    "query": ("max_num", INT, lambda c, n: c.query_messages("orders", "k", max_num=n)),
    "lock": ("queue_id", INT, lambda c, _: c.lock([FAR])),
    "group, retries": ("retry_max_times", INT, lambda c, n: c.create_group(group(n))),
    "topic, queues": ("read_queue_nums", INT, lambda c, n: c.create_topic("orders", n)),
    "poll": ("timeout_ms", INT, lambda c, n: c.poll(timeout_ms=n)),
}  # fmt: skip


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        yield mq


@pytest.mark.parametrize(("name", "number", "act"), WRONG.values(), ids=WRONG)
def test_number_is_refused_when_its_field_cannot_have_it(
    mq: fakemq.Cluster, name: str, number: int, act: Act
) -> None:
    with Client(mq.namesrv_addr) as client:
        before = len(mq.journal.find(RequestHandled, node="broker-a-0"))
        with pytest.raises(ConfigError, match=rf"{name}={number}: expected a whole number from "):
            act(client, number)
        assert len(mq.journal.find(RequestHandled, node="broker-a-0")) == before


@pytest.mark.parametrize("value", [1.5, float("nan"), True, None, "7"])
def test_group_is_refused_when_a_number_is_none(mq: fakemq.Cluster, value: Any) -> None:
    wrong = re.escape(f"retry_max_times={value!r}: expected a whole number from ")
    with Client(mq.namesrv_addr) as client, pytest.raises(ConfigError, match=wrong):
        client.create_group(group(value))


def test_header_has_the_limits_of_javas_types() -> None:
    header = SearchOffsetRequestHeader(topic="orders", queue_id=1, timestamp=2)
    assert [*header.numbers()] == [("queue_id", 1, INT), ("timestamp", 2, LONG)]
