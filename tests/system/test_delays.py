"""Delays and retries as a test sees them that holds a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fakemq.cluster import Cluster
from fakemq.events import DeadLettered, LogAppended, ScheduledDelivered, SentBack
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from tests.support.broker_lab import send_header
from tests.support.tcp import TcpPeer

RETRIES = 16


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with Cluster(clock="frozen", topics={"orders": 2}) as cluster:
        yield cluster


@pytest.fixture
def mq(running: Cluster) -> Cluster:
    running.reset()
    return running


@pytest.fixture
def peer(mq: Cluster) -> Iterator[TcpPeer]:
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        yield peer


def send(peer: TcpPeer, level: int, body: bytes = b"x", *, queue_id: int = 0) -> None:
    header = send_header(queue_id=queue_id, properties=f"UNIQ_KEY\x01{body!r}\x02DELAY\x01{level}")
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, body).code == 0


def send_back(peer: TcpPeer, offset: int) -> None:
    header = ConsumerSendMsgBackRequestHeader(offset=offset, group="billing", delay_level=0)
    assert peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header).code == 0


def test_advance_to_next_reaches_the_next_level_or_a_named_one(mq: Cluster, peer: TcpPeer) -> None:
    start_ms = mq.clock.now_ms()
    for level in (5, 3, 2):
        send(peer, level, b"%d" % level)
    assert [one.kind for one in mq.clock.advance_to_next("delay_level")] == ["delay_level_2"]
    assert mq.clock.now_ms() == start_ms + 5_000
    fired = [one.kind for one in mq.clock.advance_to_next("delay_level_5")]
    assert [kind for kind in fired if "level" in kind] == ["delay_level_3", "delay_level_5"]
    assert mq.clock.now_ms() == start_ms + 60_000
    assert [one.body for one in mq.messages("orders")] == [b"2", b"3", b"5"]
    with pytest.raises(LookupError, match="no 'delay_level' is pending"):
        mq.clock.advance_to_next("delay_level")


def test_waiting_message_is_visible_as_waiting_only(mq: Cluster, peer: TcpPeer) -> None:
    start_ms = mq.clock.now_ms()
    send(peer, 18, b"in two hours", queue_id=1)
    send(peer, 1, b"in a second")
    assert mq.messages("orders") == []
    soon, late = mq.delayed("orders")
    assert (soon.message.body, soon.level, soon.due_at_ms) == (b"in a second", 1, start_ms + 1_000)
    assert (late.topic, late.broker, late.queue_id, late.level) == ("orders", "broker-a", 1, 18)
    assert late.message.topic == "SCHEDULE_TOPIC_XXXX"
    mq.clock.advance("1s")
    assert [one.message.body for one in mq.delayed()] == [b"in two hours"]
    assert mq.delayed("others") == []
    mq.clock.advance("2h")
    assert mq.delayed() == []
    assert [one.body for one in mq.messages("orders")] == [b"in a second", b"in two hours"]


def test_killed_broker_delivers_after_restart(mq: Cluster, peer: TcpPeer) -> None:
    send(peer, 4)
    broker = mq.broker("broker-a")
    broker.kill()
    mq.clock.advance("1m")
    assert len(mq.delayed()) == 1
    broker.restart()
    mq.clock.advance_to_next("delay_level_4")
    assert len(mq.messages("orders")) == 1


def test_running_clock_delivers_by_itself() -> None:
    with Cluster(clock="real", config={"messageDelayLevel": "50s 1h"}) as mq:
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            send(peer, 1)
        mq.clock.advance("49s 950ms")
        mq.wait_for(lambda: mq.messages("orders"))
        assert mq.delayed() == []


def test_sixteen_retries_lead_to_the_dlq(mq: Cluster, peer: TcpPeer) -> None:
    send(peer, 0, b"poison")
    (first,) = mq.messages("orders")
    offset = first.commit_log_offset
    for times in range(1, RETRIES + 1):
        send_back(peer, offset)
        mq.clock.advance_to_next("delay_level")
        again = mq.messages("%RETRY%billing")[-1]
        assert again.reconsume_times == times
        offset = again.commit_log_offset
    send_back(peer, offset)
    (dead,) = mq.messages("%DLQ%billing")
    assert (dead.body, dead.reconsume_times) == (b"poison", RETRIES + 1)
    assert dead.properties["ORIGIN_MESSAGE_ID"] == first.offset_msg_id


def test_biography_is_readable_from_end_to_beginning(mq: Cluster, peer: TcpPeer) -> None:
    send(peer, 1, b"poison")
    mq.clock.advance("1s")
    (first,) = mq.messages("orders")
    send_back(peer, first.commit_log_offset)
    mq.clock.advance("10s")
    (again,) = mq.messages("%RETRY%billing")
    header = ConsumerSendMsgBackRequestHeader(
        offset=again.commit_log_offset, group="billing", delay_level=-1
    )
    peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header)
    (dead,) = mq.messages("%DLQ%billing")
    made: list[ScheduledDelivered | SentBack | DeadLettered] = [
        *mq.journal.find(ScheduledDelivered),
        *mq.journal.find(SentBack),
        *mq.journal.find(DeadLettered),
    ]
    origins = {event.phy_offset: event.from_phy_offset for event in made}
    at: int | None = dead.commit_log_offset
    stations = []
    while at is not None:
        (appended,) = mq.journal.find(LogAppended, phy_offset=at)
        stations.append(appended.topic)
        at = origins.get(at)
    assert stations == [
        "%DLQ%billing",
        "%RETRY%billing",
        "SCHEDULE_TOPIC_XXXX",
        "orders",
        "SCHEDULE_TOPIC_XXXX",
    ]
