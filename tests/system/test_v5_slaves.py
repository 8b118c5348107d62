"""A slave of 5.5.0 that becomes the master: timers and pops continue where the master was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.client.messages import Message
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import broker5
from tests.support.popper import Popper
from tests.support.pops import TOPIC, ack_header

LONG_MS = 120_000


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        reference="5.5.0", slaves=1, clock="frozen", topics={TOPIC: 1}, role="SYNC_MASTER"
    ) as cluster:
        yield cluster


def popper(mq: fakemq.Cluster, name: str) -> Popper:
    client = Popper(mq.namesrv_addr)
    client.addr = mq.broker(name).addr
    return client


def send(client: Popper, body: bytes, **properties: str) -> None:
    client.send(Message(TOPIC, body, properties=properties))


def units(mq: fakemq.Cluster, name: str) -> int:
    """How many timer messages have a unit at a broker, and are not delivered."""

    def count(core: ClusterCore) -> int:
        timers = broker5(core.broker(name)).timers.timers
        return timers.wheel.messages(timers.checkpoint.last_read_ms)

    return mq.inspect(count)


def fail_over(mq: fakemq.Cluster) -> None:
    """Let the slave become the master of a broker that is gone."""
    mq.broker("broker-a-0").kill()
    mq.broker("broker-a-1").promote()


def bodies(mq: fakemq.Cluster) -> list[bytes]:
    return [message.body for message in mq.messages(TOPIC)]


def test_slave_has_units_of_its_masters_timers(mq: fakemq.Cluster) -> None:
    with popper(mq, "broker-a-0") as client:
        send(client, b"soon", TIMER_DELAY_SEC="5")
        send(client, b"later", TIMER_DELAY_SEC="3600")
    assert units(mq, "broker-a-1") == 0
    mq.clock.advance("13s")
    assert units(mq, "broker-a-0") == units(mq, "broker-a-1") == 1


def test_promoted_slave_delivers_what_its_master_has_not(mq: fakemq.Cluster) -> None:
    with popper(mq, "broker-a-0") as client:
        send(client, b"soon", TIMER_DELAY_SEC="5")
        send(client, b"later", TIMER_DELAY_SEC="60")
        mq.clock.advance("16s")
        send(client, b"last", TIMER_DELAY_SEC="20")  # its master's progress is not known yet
    mq.clock.advance("1s")
    assert bodies(mq) == [b"soon"]
    fail_over(mq)
    mq.clock.advance("60s")
    assert bodies(mq) == [b"soon", b"last", b"later"]


def test_promoted_slave_revives_what_is_not_acknowledged(mq: fakemq.Cluster) -> None:
    with popper(mq, "broker-a-0") as client:
        for body in (b"acknowledged", b"popped", b"left"):
            send(client, body)
        popped = client.pop(max_msg_nums=2, invisible_time=LONG_MS)
        assert popped.bodies == [b"acknowledged", b"popped"]
        client.ask(RequestCode5.ACK_MESSAGE, ack_header(popped, popped.messages[0]))
    mq.clock.advance("63s")  # so the slave knows the offset that the pop has committed
    fail_over(mq)
    with popper(mq, "broker-a-1") as client:
        assert sorted(client.pop().bodies) == [b"left"]
        mq.clock.advance("16s")  # 3 s after the end of its invisible time
        assert b"left" in client.pop().bodies
        mq.clock.advance("44s")
        assert b"popped" in client.pop().bodies
