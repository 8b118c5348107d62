"""Waits of RocketMQ 5 on a frozen clock: one short `advance` each, and nothing comes too early."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.client import Message
from fakemq.client.errors import MQBrokerError
from fakemq.clock.durations import duration_ms
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.popper import Popper
from tests.support.pops import GROUP, ack_header, change_header

POLLING_TIMEOUT = 210
REVIVED_AFTER_MS = 2_001
"""How long after its invisible time a message is in the retry topic."""
MOST_FIRED = 200
"""Deadlines of an advance: 3 days without the skip of routine are 25,632."""


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        reference="5.5.0", clock="frozen", start_at="2024-02-29T12:00:00Z", topics={"orders": 1}
    ) as cluster:
        cluster.group(GROUP).set(retry_max_times=16)
        yield cluster


@pytest.fixture
def client(mq: fakemq.Cluster) -> Iterator[Popper]:
    with Popper(mq.namesrv_addr, producer_group="billing") as popper:
        popper.addr = mq.broker("broker-a").addr
        yield popper


def advance_ms(mq: fakemq.Cluster, ms: int) -> None:
    """Move time, in one short advance."""
    assert len(mq.clock.advance(ms / 1000)) < MOST_FIRED


def bodies(client: Popper, **fields: str | int | bool) -> list[bytes]:
    """Pop, and return what came."""
    try:
        return client.pop(**fields).bodies
    except MQBrokerError as error:
        if error.code == POLLING_TIMEOUT:
            return []
        raise


@pytest.mark.parametrize("invisible", ["10s", "1m", "1h", "12h"])
def test_message_that_is_not_acknowledged_comes_again(
    mq: fakemq.Cluster, client: Popper, invisible: str
) -> None:
    mq.seed("orders", ["tea"])
    invisible_ms = duration_ms(invisible)
    assert bodies(client, invisible_time=invisible_ms) == [b"tea"]
    advance_ms(mq, invisible_ms + REVIVED_AFTER_MS - 1)
    assert bodies(client) == []
    advance_ms(mq, 1)
    (message,) = client.pop().messages
    assert (message.body, message.reconsume_times) == (b"tea", 1)


@pytest.mark.parametrize("invisible", ["10s", "12h"])
def test_message_in_order_is_visible_at_its_time(
    mq: fakemq.Cluster, client: Popper, invisible: str
) -> None:
    mq.seed("orders", ["tea", "milk"])
    invisible_ms = duration_ms(invisible)
    fields = {"queue_id": 0, "max_msg_nums": 1, "order": True, "invisible_time": invisible_ms}
    assert bodies(client, **fields) == [b"tea"]
    advance_ms(mq, invisible_ms - 1)
    assert bodies(client, **fields) == []
    advance_ms(mq, 1)
    assert bodies(client, **fields) == [b"tea"]


@pytest.mark.parametrize("to", ["30s", "11h"])
def test_changed_invisible_time_is_kept(mq: fakemq.Cluster, client: Popper, to: str) -> None:
    mq.seed("orders", ["tea"])
    popped = client.pop()
    header = change_header(popped, popped.messages[0], duration_ms(to))
    client.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, header)
    advance_ms(mq, duration_ms(to) - 1)
    assert bodies(client) == []
    advance_ms(mq, 2 * REVIVED_AFTER_MS)
    assert bodies(client) == [b"tea"]


def test_retry_policy_leads_to_the_dead_letters(mq: fakemq.Cluster, client: Popper) -> None:
    """A worker that always fails: each time later, then behind its last try."""
    delays_ms = [1_000, 60_000, 3_600_000, 6 * 3_600_000]
    mq.seed("orders", ["tea"])
    seen = list[int]()
    for delay_ms in delays_ms:
        popped = client.pop()
        (message,) = popped.messages
        seen.append(message.reconsume_times)
        client.ask(
            RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, change_header(popped, message, delay_ms)
        )
        advance_ms(mq, delay_ms - 1)
        assert bodies(client) == []
        advance_ms(mq, 2 * REVIVED_AFTER_MS)
    popped = client.pop()
    (message,) = popped.messages
    assert [*seen, message.reconsume_times] == [0, 1, 2, 3, 4]
    dead = ConsumerSendMsgBackRequestHeader(
        offset=message.commit_log_offset,
        group=GROUP,
        delay_level=-1,
        origin_topic=message.topic,
        max_reconsume_times=4,
    )
    command = client.instance.command(RequestCode.CONSUMER_SEND_MSG_BACK, dead)
    client.run(client.instance.invoke_ok(client.addr, command))
    client.ask(RequestCode5.ACK_MESSAGE, ack_header(popped, message))
    mq.assert_in_dlq(GROUP, bodies=["tea"])
    advance_ms(mq, 24 * 3_600_000)
    assert bodies(client) == []
    assert mq.group(GROUP).inflight() == []


def test_timer_of_three_days_comes_in_its_second(mq: fakemq.Cluster, client: Popper) -> None:
    mq.topic("orders").message_type = "DELAY"
    client.send(Message("orders", b"tea", properties={"TIMER_DELAY_SEC": str(3 * 86_400)}))
    advance_ms(mq, 3 * 86_400_000 - 1)
    assert bodies(client) == []
    advance_ms(mq, 1_001)
    assert bodies(client) == [b"tea"]
