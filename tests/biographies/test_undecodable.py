"""Messages on which known clients fail while they decode them: the diagnosis names what is odd."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest

import fakemq
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.sysflag import MessageSysFlag
from tests.support.broker_lab import send_header
from tests.support.consumer import GROUP, Consumer, consuming


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as cluster:
        yield cluster


@pytest.fixture
def client(mq: fakemq.Cluster) -> Iterator[Consumer]:
    with consuming(mq) as client:
        yield client


def send(mq: fakemq.Cluster, client: Consumer, body: bytes, sys_flag: int = 0) -> None:
    header = send_header("orders", queue_id=0, sys_flag=sys_flag)
    command = client.instance.command(RequestCode.SEND_MESSAGE_V2, header)
    command.body = body
    client.run(client.instance.invoke_ok(mq.broker("broker-a").addr, command))


def test_empty_body_is_named_when_nothing_acks_it(mq: fakemq.Cluster, client: Consumer) -> None:
    send(mq, client, b"")
    client.take("orders", commit=False)
    with pytest.raises(AssertionError) as failed:
        mq.assert_consumed("orders", GROUP)
    assert (
        f"b'' of orders: delivered once to {GROUP}, and its body is empty: Java clients up to 4.9.7"
        " throw a NullPointerException"
    ) in str(failed.value)


def test_empty_body_is_named_for_the_groups_alone_that_do_not_ack_it(
    mq: fakemq.Cluster, client: Consumer
) -> None:
    send(mq, client, b"")
    client.take("orders")
    assert mq.diagnosis("orders", GROUP) == []
    with Consumer(mq.namesrv_addr, consumer_group="others", producer_group="shop") as other:
        (queue,) = other.subscribe_queues("orders")
        other.pull(queue, 0)
        other.pull(queue, 0)
    (line,) = [line for line in mq.diagnosis("orders") if "NullPointerException" in line]
    assert line.startswith("b'' of orders: delivered twice to others, and its body is empty")


@pytest.mark.parametrize(
    ("sys_flag", "body"),
    [
        (MessageSysFlag.COMPRESSED, b"no zlib"),
        (MessageSysFlag.COMPRESSED, zlib.compress(b"tea" * 100)[:-8]),
        (MessageSysFlag.COMPRESSED | 5 << 8, zlib.compress(b"tea")),
    ],
    ids=["other bytes", "cut", "unknown type"],
)
def test_body_that_cannot_be_unpacked_is_named_although_it_is_acked(
    mq: fakemq.Cluster, client: Consumer, sys_flag: int, body: bytes
) -> None:
    send(mq, client, body, sys_flag)
    (queue,) = client.subscribe_queues("orders")
    assert not client.pull(queue, 0).messages  # it cannot read it either
    client.update_offset(queue, 1, oneway=False)
    (line,) = mq.diagnosis("orders", GROUP)
    assert "says that its body is compressed, and it cannot be unpacked: Java clients drop" in line


def test_usual_bodies_are_not_named(mq: fakemq.Cluster, client: Consumer) -> None:
    send(mq, client, zlib.compress(bytes(3_000_000)), MessageSysFlag.COMPRESSED)
    send(mq, client, b"tea")
    client.take("orders")
    assert not any("body" in line for line in mq.diagnosis("orders", GROUP))
