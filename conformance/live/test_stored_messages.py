"""Five thousand messages of every kind, and what was in flight, go over to the other's broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from conformance.capture.requests import properties, send_fields
from conformance.drivers.stored_messages import (
    GROUP,
    QUEUES,
    STOCK_CONFIG,
    TOPICS,
    Found,
    Stock,
    Stored,
    check_order,
    check_stock,
    unwalked,
    wrong_times,
)
from conformance.live.groups import CROWDED
from conformance.live.store_walk import java_config
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.processes import FakemqProcess
from conformance.wire.raw import RawConnection, frame, json_header
from fakemq.protocol.sysflag import MessageSysFlag

# Each starts two or three brokers, one a JVM at least, and waits for what they had in flight.
pytestmark = [pytest.mark.slow, CROWDED]

MESSAGES = 5_000
MORE = 1_024
WALKS = 10
FILE_ENTRIES = 500
SIZES = {
    "mappedFileSizeCommitLog": str(256 << 10),
    "mappedFileSizeConsumeQueue": str(20 * FILE_ENTRIES),
    "maxHashSlotNum": "500",
    "maxIndexNum": "4000",
}
RETRY_TOPIC = f"%RETRY%{GROUP}"
SEND_MESSAGE = 10


class Running(NamedTuple):
    """A broker on the store, and how it ends."""

    namesrv_addr: str
    port: int
    stop: Callable[[], object]
    kill: Callable[[], object]


@contextmanager
def fakemq_on(store: Path, *, topics: bool) -> Iterator[Running]:
    arguments = ["--namesrv-port", "0", "--broker-port", "0"]
    arguments += ["--listen", "::", "--advertise", "127.0.0.1"]
    if topics:
        arguments += [word for topic in TOPICS for word in ("--topic", f"{topic}:{QUEUES}")]
    config = {**java_config(store), **SIZES, **STOCK_CONFIG, "brokerName": "broker-a"}
    lines = [f"{key}={value}" for key, value in config.items()]
    with FakemqProcess(*arguments, config=lines) as ours:
        port = int(ours.broker_addrs[0].rpartition(":")[2])
        yield Running(ours.namesrv_addr, port, ours.terminate, ours.kill)


@contextmanager
def java_on(store: Path, *, topics: bool) -> Iterator[Running]:
    config = {**java_config(store), **SIZES, **STOCK_CONFIG}
    with JavaCluster(config=config, topics=dict.fromkeys(TOPICS * topics, QUEUES)) as real:
        broker = real.broker("broker-a")
        yield Running(real.namesrv_addr, broker.port, broker.stop, broker.kill)


def send_by_ipv6(stock: Stock, port: int, name: str) -> None:
    """A message to each queue from a host with a long address."""
    with RawConnection(f"[::1]:{port}") as connection:
        for number in range(len(TOPICS) * QUEUES):
            key, topic = f"{name}-v6-{number:06}", TOPICS[number % len(TOPICS)]
            unique_id = f"{name:*<26}{number:06}"
            text = properties(UNIQ_KEY=unique_id, KEYS=f"{key} ipv6", TAGS="ipv6")
            sys_flag = MessageSysFlag.BORNHOST_V6
            fields = send_fields(text, number // len(TOPICS), sys_flag, topic)
            answer = connection.call(frame(SEND_MESSAGE, fields, key.encode() * 5))
            header = json_header(answer)
            assert header["code"] == 0, header
            where = header["extFields"]
            assert isinstance(where, dict)
            queue_id, offset = int(where["queueId"]), int(where["queueOffset"])
            stock.acks.append(
                Stored("ipv6", key, topic, queue_id, offset, unique_id, where["msgId"])
            )


def fill(stock: Stock, node: Running, name: str, count: int, how: str) -> None:
    """Send ``count`` messages and more of every kind, and end the broker, under load or not."""
    under_load = how == "kill"
    stock.load(node.namesrv_addr, name, MESSAGES if under_load else count // 16)
    send_by_ipv6(stock, node.port, name)
    stock.wait_acks(len(stock.acks) + count)
    if under_load:
        node.kill()
        stock.wait_loaded()
        stock.leave()
    else:
        stock.wait_loaded()
        stock.leave()
        node.stop()


def settle(stock: Stock, node: Running) -> list[Found]:
    """Have what was in flight end; return everything there is then."""
    stock.consume(node.namesrv_addr)
    stock.wait_consumed(stock.keys())
    # After a kill a message can be consumed twice, and be sent back twice. Its second copy may
    # arrive during a walk, behind the part of the queue that the walk has passed.
    for _ in range(WALKS):
        found = stock.walk(node.namesrv_addr, RETRY_TOPIC)
        if not unwalked(found):
            break
    check_stock(found, list(stock.acks))
    check_order(found)
    check_kinds(found)
    return found


def in_flight(stock: Stock) -> set[str]:
    """Return the kinds of messages that no consumer has taken yet."""
    wanted = stock.keys() - stock.consumed.keys()
    return {ack.kind for ack in stock.acks if ack.key in wanted}


def lasting(found: list[Found]) -> set[Found]:
    """Return what each message has for good; where many are of one time, that finds any of them.

    Look-ups by time go by the time of a queue's file, and where that lags behind, messages are
    found elsewhere; but what is found in a full file is found there for ever.
    """
    ends: dict[tuple[str, int], int] = {}
    for one in found:
        ends[one.topic, one.queue_id] = one.queue_offset // FILE_ENTRIES
    full = {
        one for one in found if one.offset_by_time // FILE_ENTRIES < ends[one.topic, one.queue_id]
    }
    return full | no_time([one for one in found if one not in full])


def by_keys_of(walked: list[Found], found: list[Found]) -> list[Found]:
    """Return ``found`` with those messages by key only that another walk has seen.

    A copy that a consumer has sent back again may arrive after a walk: by key it is found later.
    """
    seen = {one.phy_offset for one in walked}
    return [one._replace(by_key=tuple(at for at in one.by_key if at in seen)) for one in found]


def no_time(found: list[Found]) -> set[Found]:
    return {one._replace(offset_by_time=0) for one in found}


def check_kinds(found: list[Found]) -> None:
    """That there are messages with every mark that they may have."""
    marks = {
        "ipv6": MessageSysFlag.BORNHOST_V6,
        "compressed": MessageSysFlag.COMPRESSED,
        "commit": MessageSysFlag.TRANSACTION_COMMIT_TYPE,
        "later": MessageSysFlag.TRANSACTION_COMMIT_TYPE,
    }
    for kind, mark in marks.items():
        assert all(one.sys_flag & mark for one in found if one.kind == kind), kind
    assert {one.kind for one in found} == {*marks, "plain", "delay", "again", "batch"}


def check_left(store: Path, stock: Stock, how: str) -> None:
    """The broker is gone as it was to go, and there is enough left for the next one to do."""
    assert (store / "abort").exists() == (how == "kill")
    assert len(list((store / "commitlog").iterdir())) > 5
    assert in_flight(stock) >= {"delay", "again", "later"}


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_java_broker_continues_on_our_store(java: None, how: str, tmp_path: Path) -> None:
    store = tmp_path / "broker-a"
    with Stock() as stock:
        with fakemq_on(store, topics=True) as ours:
            stock.consume(ours.namesrv_addr)
            fill(stock, ours, "one", MESSAGES, how)
        check_left(store, stock, how)
        with java_on(store, topics=False) as real:
            found = settle(stock, real)
            assert len(found) > MESSAGES * 0.9
            # The times of files that Java has written to since then lag behind.
            ours_wrote = {ack.offset_msg_id for ack in stock.acks}
            assert [one for one in wrong_times(found) if one.offset_msg_id in ours_wrote] == []


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_our_broker_continues_on_javas_store_and_java_on_ours(
    java: None, how: str, tmp_path: Path
) -> None:
    store = tmp_path / "broker-a"
    with Stock() as stock:
        with java_on(store, topics=True) as real:
            stock.consume(real.namesrv_addr)
            fill(stock, real, "one", MESSAGES, how)
        check_left(store, stock, how)
        with fakemq_on(store, topics=False) as ours:
            found = settle(stock, ours)
            fill(stock, ours, "two", MORE, how)
        assert in_flight(stock) >= {"delay", "again", "later"}
        with java_on(store, topics=False) as real:
            last = by_keys_of(found, settle(stock, real))
            assert lasting(found) <= lasting(last) | no_time(last)
