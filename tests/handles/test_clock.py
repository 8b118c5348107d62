"""A cluster's clock in a test's hands: its rate, its nodes' skews, its holds, and outside peers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from fakemq import AsyncCluster, Cluster
from fakemq.client import Client, Message
from fakemq.clock.durations import Duration
from fakemq.errors import ConfigError, WaitTimeout
from fakemq.events import ClockMoved, ClockSkewed, LinkClosed
from fakemq.fixtures.report import section
from fakemq.protocol.codes import RequestCode
from tests.support.clients import GROUP, consumer_data
from tests.support.tcp import TcpPeer

START = "2024-02-29T12:00:00Z"
START_MS = 1_709_208_000_000


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with Cluster(masters=2, topics={"orders": 1}, clock="frozen", start_at=START) as cluster:
        yield cluster


@pytest.fixture
def mq(running: Cluster) -> Cluster:
    running.reset()
    return running


@pytest.fixture
def consumer(mq: Cluster) -> Iterator[TcpPeer]:
    with silent_consumer(mq) as peer:
        yield peer


@contextmanager
def silent_consumer(mq: Cluster) -> Iterator[TcpPeer]:
    """A client outside that has sent one heartbeat, and will not send another."""
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        data = {"clientID": "c", "consumerDataSet": [consumer_data(GROUP)], "producerDataSet": []}
        peer.ask(RequestCode.HEART_BEAT, body=json.dumps(data).encode())
        assert members(mq) == ["c"]
        yield peer


def members(mq: Cluster) -> list[str]:
    return [member.client_id for member in mq.group(GROUP).members()]


def delay(mq: Cluster, level: int, broker: str = "broker-a") -> None:
    """Have one message wait at one broker."""
    with Client(mq.namesrv_addr, producer_group="billing") as client:
        queue = next(q for q in client.publish_queues("orders") if q.broker_name == broker)
        client.send(Message("orders", b"later", properties={"DELAY": str(level)}), queue=queue)


def bodies(mq: Cluster) -> list[bytes]:
    return [message.body for message in mq.messages("orders")]


# -- rate -------------------------------------------------------------------------------------


def test_fast_clock_delivers_early_in_real_time(mq: Cluster) -> None:
    mq.clock.rate = 1000
    assert mq.clock.now_ms() == START_MS, "a frozen clock has a rate for later"
    delay(mq, 5)
    mq.clock.unfreeze()
    mq.wait_for(lambda: bodies(mq), timeout="10s")
    assert mq.clock.now_ms() >= START_MS + 60_000
    assert repr(mq.clock).startswith("<clock running 1000 times as fast at 2024-02-29T12:")
    assert mq.journal.find(ClockMoved, how="rate 1000")
    mq.reset()
    assert (mq.clock.rate, mq.clock.now_ms()) == (1, START_MS)


def test_invalid_rate_changes_nothing(mq: Cluster) -> None:
    with pytest.raises(ValueError, match="rate=0: expected how many times as fast"):
        mq.clock.rate = 0
    assert mq.clock.rate == 1
    assert [moved.how for moved in mq.journal.find(ClockMoved)] == ["reset"]


# -- skew -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "skew_ms"), [("+5s", 5000), ("-300ms", -300), (timedelta(hours=-1), -3_600_000), (0, 0)]
)
def test_skew_moves_one_brokers_clock(mq: Cluster, by: Duration, skew_ms: int) -> None:
    clock = mq.broker("broker-a").clock
    clock.skew(by)
    assert (clock.skew_ms, clock.now_ms()) == (skew_ms, START_MS + skew_ms)
    assert clock.now() - mq.clock.now() == timedelta(milliseconds=skew_ms)
    assert mq.broker("broker-b").clock.skew_ms == 0
    stored = {
        message.broker: message.store_timestamp_ms for message in mq.seed("orders", ["a", "b"])
    }
    assert stored == {"broker-a": START_MS + skew_ms, "broker-b": START_MS}
    mq.broker("broker-a").restart()
    assert clock.skew_ms == skew_ms, "a machine's clock does not mind what runs on it"
    skews = [(event.node, event.skew_ms) for event in mq.journal.find(ClockSkewed)]
    assert skews == ([("broker-a-0", skew_ms)] if skew_ms else [])
    assert repr(clock).endswith(f"skewed by {skew_ms:+d} ms>")
    mq.reset()
    assert clock.skew_ms == 0


def test_invalid_skew_is_refused(mq: Cluster) -> None:
    with pytest.raises(ConfigError, match="skew='soon': expected a duration"):
        mq.broker("broker-a").clock.skew("soon")


@pytest.mark.parametrize(
    ("by", "left_ms"),
    [
        ("+4s", 1000),
        ("+10s", 0),
        ("-4s", 9000),
        # Before it came, that is: nothing waits for longer than its level does, as in RocketMQ.
        ("-5001ms", 0),
    ],
)
def test_delay_is_counted_by_its_brokers_wall_clock(mq: Cluster, by: str, left_ms: int) -> None:
    delay(mq, 3)
    mq.clock.advance("5s")
    mq.broker("broker-b").clock.skew("1h")
    mq.broker("broker-a").clock.skew(by)
    assert bodies(mq) == [], "a jump fires nothing"
    (waiting,) = mq.delayed("orders")
    assert waiting.due_at_ms == START_MS + 10_000, "by the broker's own wall"
    fired = mq.clock.advance_to_next("delay_level_3")
    assert bodies(mq) == [b"later"]
    assert fired[-1].kind == "delay_level_3"
    assert mq.clock.now_ms() == START_MS + 5000 + left_ms


# -- standing still ---------------------------------------------------------------------------


def test_time_out_error_says_that_the_clock_is_frozen() -> None:
    with Cluster(topics={"orders": 1}, clock="frozen") as mq:
        delay(mq, 3)
        with pytest.raises(WaitTimeout) as raised:
            mq.wait_for(lambda: bodies(mq), timeout=0)
        report = section(mq)
    said = str(raised.value).splitlines()[0]
    assert said.startswith(
        "still [] after 0 ms of real time; the clock is frozen; next deadlines:"
        " delay_level_3 of broker-a-0 in 10000 ms, "
    )
    assert said.endswith(" ms; most likely:")
    assert said.count(" of ") == 4, "of each kind the soonest"
    assert "\nthe clock is frozen; next deadlines: delay_level_3 of broker-a-0" in report


def test_holds_are_counted_and_listed(mq: Cluster) -> None:
    mq.clock.unfreeze()
    with mq.clock.hold("loading"), mq.clock.hold("the fixtures") as hold:
        assert mq.clock.holds == ["loading", "the fixtures"]
        assert repr(mq.clock).endswith(", held: loading, held: the fixtures>")
        with pytest.raises(WaitTimeout, match="the clock is held: loading, held: the fixtures; n"):
            mq.wait_for(lambda: False, timeout=0)
        hold.release()
        delay(mq, 1)
        mq.clock.advance("1s")
        assert bodies(mq) == [b"later"], "it can be moved by hand"
    assert mq.clock.holds == []
    with pytest.raises(WaitTimeout, match="of real time; most likely:"):
        mq.wait_for(lambda: False, timeout=0)
    mq.clock.hold("for ever")
    mq.reset()
    assert mq.clock.holds == []


# -- outside peers ----------------------------------------------------------------------------

AGE: dict[str, Callable[[Cluster, bool], object]] = {
    "advance": lambda mq, outside: mq.clock.advance("131s", outside_peers=outside),
    "advance_to": lambda mq, outside: mq.clock.advance_to(
        mq.clock.now() + timedelta(seconds=131), outside_peers=outside
    ),
    "run_until": lambda mq, outside: mq.run_until(
        lambda: mq.clock.now_ms() >= START_MS + 131_000, at_most="10m", outside_peers=outside
    ),
}


@pytest.mark.parametrize("way", AGE)
@pytest.mark.usefixtures("consumer")
def test_outside_peers_age_on_request(mq: Cluster, way: str) -> None:
    AGE[way](mq, False)
    assert members(mq) == ["c"], "it lives in real time"
    mq.reset()


@pytest.mark.parametrize("way", AGE)
def test_silent_outside_peer_expires(mq: Cluster, consumer: TcpPeer, way: str) -> None:
    AGE[way](mq, True)
    assert members(mq) == []
    assert consumer.at_end(), "its connection was idle for 120 s"
    assert mq.journal.find(LinkClosed, node="broker-a-0")


def test_next_deadline_of_an_outside_peer_is_known() -> None:
    with Cluster(masters=2, clock="frozen") as mq, silent_consumer(mq) as consumer:
        # The cluster's own connections are due in 60 s now, the consumer's still in 120 s.
        mq.clock.advance("60s")
        mq.clock.advance_to_next("channel_idle")
        assert members(mq) == ["c"], "that was one of the cluster's own connections"
        mq.clock.advance_to_next("channel_idle", outside_peers=True)
        assert consumer.at_end()
        with pytest.raises(LookupError, match="no 'pull_hold' is pending"):
            mq.clock.advance_to_next("pull_hold", outside_peers=True)


# -- awaited ----------------------------------------------------------------------------------


def test_asynchronous_clock_has_the_same_methods(mq: Cluster) -> None:
    face = AsyncCluster.of(mq)

    async def main() -> None:
        face.clock.rate = 2
        face.broker("broker-a").clock.skew("-1s")
        later = face.clock.now() + timedelta(seconds=10)
        await face.clock.advance_to(later, outside_peers=True)
        assert await face.clock.advance_to_next("txn_check")
        await face.run_until(
            lambda: mq.clock.now_ms() >= START_MS + 90_000, at_most="1h", outside_peers=True
        )
        with pytest.raises(WaitTimeout, match="the clock is frozen; next deadlines:"):
            await face.wait_for(lambda: False, timeout=0)

    asyncio.run(main())
    assert (mq.clock.rate, mq.broker("broker-a").clock.skew_ms) == (2, -1000)
