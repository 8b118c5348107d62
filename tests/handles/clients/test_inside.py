"""Producers and consumers inside a cluster, as a test has them."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import Future

import anyio
import pytest

import fakemq
from fakemq.client import (
    LocalTransactionState,
    Message,
    MQBrokerError,
    MQClientError,
    SendStatus,
)
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.errors import ConfigError, FakemqError
from fakemq.handles.clients.consumers import InsideConsumer
from fakemq.protocol.message import MessageExt

TOPICS = {"orders": 4, "payments": 2}


@pytest.fixture(scope="module")
def frozen() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics=TOPICS, clock="frozen", seed=1) as cluster:
        yield cluster


@pytest.fixture
def mq(frozen: fakemq.Cluster) -> fakemq.Cluster:
    frozen.reset()
    return frozen


def bodies(consumer: InsideConsumer) -> list[bytes]:
    return [message.body for message in consumer.received]


# -- producers ----------------------------------------------------------------------------------


def test_send_returns_where_the_message_is_stored(mq: fakemq.Cluster) -> None:
    sent = mq.producer().send("orders", b"tea", tags="paid", keys="o-1")
    (message,) = mq.messages("orders")
    assert sent.status is SendStatus.SEND_OK
    assert (sent.broker_name, sent.queue_id, sent.queue_offset, sent.message_id) == (
        *(message.broker, message.queue_id, message.offset, message.msg_id),
    )
    assert (message.body, message.tags, message.keys) == (b"tea", "paid", "o-1")


def test_every_way_to_send_works(mq: fakemq.Cluster) -> None:
    with mq.producer(group="shop") as producer:
        producer.send(Message("orders", b"one"), sharding_key="o-1")
        producer.send_oneway("orders", b"two")
        producer.send_batch([Message("orders", b"three"), Message("orders", b"four")])
        ended = producer.send_in_transaction(
            Message("orders", b"five"), lambda message: LocalTransactionState.COMMIT_MESSAGE
        )
    assert ended.state is LocalTransactionState.COMMIT_MESSAGE
    mq.assert_sent("orders", bodies=[b"one", b"two", b"three", b"four", b"five"])
    assert producer.closed


def test_delayed_message_comes_when_time_is_moved(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    mq.producer().send("orders", b"later", delay_level=3)
    mq.clock.advance("9s")
    assert bodies(consumer) == []
    mq.clock.advance("1s")
    assert bodies(consumer) == [b"later"]


def test_broker_asks_about_a_half_message(mq: fakemq.Cluster) -> None:
    asked: list[bytes] = []

    def check(message: MessageExt) -> LocalTransactionState:
        asked.append(message.body)
        return LocalTransactionState.COMMIT_MESSAGE

    producer = mq.producer(group="shop", check=check)
    producer.send_in_transaction(Message("orders", b"half"), lambda message: None)
    assert mq.messages("orders") == []
    mq.clock.advance("2m")
    assert asked == [b"half"]
    mq.assert_sent("orders", bodies=[b"half"])


def test_request_is_answered_by_a_consumer_inside(mq: fakemq.Cluster) -> None:
    from fakemq.client.producing.request_reply import create_reply_message

    answering = mq.producer(group="answering")

    def answer(message: ReceivedMessage) -> None:
        answering.send(create_reply_message(message.stored, b"the answer"))

    mq.consumer(group="service", subscribe="orders", on_message=answer)
    asking = mq.producer(group="asking")
    assert asking.request(Message("orders", b"a question")).body == b"the answer"


def test_error_of_a_broker_is_raised(mq: fakemq.Cluster) -> None:
    mq.faults.error("SEND_MESSAGE_V2", code="MESSAGE_ILLEGAL", times=1)
    with pytest.raises(MQBrokerError, match="MESSAGE_ILLEGAL"):
        mq.producer().send("orders", b"tea")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"group": "a b"}, "the specified group"),
        ({"group": "shop", "nonsense": 1}, "nonsense"),
        ({"group": "shop", "instance_name": "one"}, "a client of its own"),
        ({"group": "shop", "send_timeout_ms": "3s"}, "send_timeout_ms"),
    ],
)
def test_impossible_producer_is_refused_and_leaves_nothing(
    mq: fakemq.Cluster, options: dict[str, object], text: str
) -> None:
    with pytest.raises((MQClientError, TypeError, ConfigError), match=text):
        mq.producer(**options)  # type: ignore[arg-type]
    assert mq.inspect(lambda core: len(core.guests)) == 0


# -- time ---------------------------------------------------------------------------------------


def test_send_that_needs_time_of_a_frozen_clock_is_refused(mq: fakemq.Cluster) -> None:
    producer = mq.producer()
    mq.faults.latency("broker-a", "clients", "100ms")
    with pytest.raises(FakemqError, match=r"send needs time to pass, and the clock is frozen"):
        producer.send("orders", b"tea")


def test_send_in_the_background_ends_when_time_is_moved(mq: fakemq.Cluster) -> None:
    producer = mq.producer()
    fault = mq.faults.latency("broker-a", "clients", "100ms")
    sending = producer.send_async("orders", b"tea")
    assert not sending.done()
    mq.clock.advance("1s")
    assert sending.result(0).status is SendStatus.SEND_OK
    fault.remove()
    assert producer.send_async("orders", b"milk").done()


def test_send_to_a_paused_broker_times_out_by_the_clusters_clock(mq: fakemq.Cluster) -> None:
    producer = mq.producer()
    producer.send("orders", b"tea")
    mq.broker("broker-a").pause()
    sending = producer.send_async("orders", b"milk", timeout_ms=2_000)
    mq.clock.advance("1999ms")
    assert not sending.done()
    mq.clock.advance("1ms")
    with pytest.raises(MQClientError, match=r"Send \[3\] times, still failed, cost \[2000\]ms"):
        sending.result(0)


def test_send_waits_in_real_time_while_the_clock_runs() -> None:
    with fakemq.Cluster(topics=TOPICS) as mq:
        producer = mq.producer()
        mq.faults.latency("broker-a", "clients", "20ms")
        assert producer.send("orders", b"tea").status is SendStatus.SEND_OK


def test_waiting_send_ends_with_the_cluster() -> None:
    with fakemq.Cluster(topics=TOPICS) as mq:
        producer = mq.producer()
        mq.broker("broker-a").pause()
        failures: list[BaseException] = []

        def send() -> None:
            try:
                producer.send("orders", b"tea", timeout_ms=60_000)
            except FakemqError as error:
                failures.append(error)

        thread = threading.Thread(target=send)
        thread.start()
        mq.wait_for(lambda: mq.inspect(lambda core: core.broker("broker-a").clock.paused))
        time.sleep(0.05)
        mq.reset()
        thread.join(5)
        assert len(failures) == 1


# -- consumers ----------------------------------------------------------------------------------


def test_returning_acknowledges(mq: fakemq.Cluster) -> None:
    seen: list[tuple[bytes, str]] = []
    consumer = mq.consumer(
        group="billing",
        subscribe={"orders": "paid || shipped"},
        on_message=lambda message: seen.append((message.body, message.tags)),
    )
    producer = mq.producer()
    for tag in ("paid", "lost", "shipped"):
        producer.send("orders", tag, tags=tag, sharding_key="o-1")
    assert seen == [(b"paid", "paid"), (b"shipped", "shipped")]
    assert bodies(consumer) == [b"paid", b"shipped"]
    consumer.close()
    assert mq.group("billing").lag("orders") == 0


def test_raising_sends_back_until_the_message_is_dead(mq: fakemq.Cluster) -> None:
    def fail(message: ReceivedMessage) -> None:
        raise ValueError(message.reconsume_times)

    consumer = mq.consumer(
        group="billing", subscribe="orders", on_message=fail, max_reconsume_times=2
    )
    mq.producer().send("orders", b"tea")
    assert [str(failure.error) for failure in consumer.failures] == ["0"]
    mq.clock.advance("10s")
    mq.clock.advance("30s")
    assert [str(failure.error) for failure in consumer.failures] == ["0", "1", "2"]
    assert [failure.message.body for failure in consumer.failures] == [b"tea"] * 3
    mq.assert_in_dlq("billing", bodies=[b"tea"])


def test_two_hours_consume_a_message_again_and_again(mq: fakemq.Cluster) -> None:
    def fail(message: ReceivedMessage) -> None:
        message.retry_later(2)

    consumer = mq.consumer(group="billing", subscribe="orders", on_message=fail)
    mq.producer().send("orders", b"tea")
    mq.clock.advance("2h")
    assert len(consumer.received) == 17
    mq.assert_in_dlq("billing", 1)


def test_consumers_of_a_group_share_the_queues(mq: fakemq.Cluster) -> None:
    one = mq.consumer(group="billing", subscribe="orders")
    two = mq.consumer(group="billing", subscribe="orders")
    producer = mq.producer()
    for number in range(8):
        producer.send("orders", b"%d" % number)
    assert len(bodies(one)) == len(bodies(two)) == 4
    assert [member.client_id for member in mq.group("billing").members()] == [one.name, two.name]
    mq.clock.advance("10s")
    two.kill()
    mq.clock.advance("20s")
    for number in range(8):
        producer.send("orders", b"%d" % number)
    assert len(bodies(one)) == 12


def test_ordered_consumer_repeats_the_first_message_of_a_queue(mq: fakemq.Cluster) -> None:
    failing = [True]

    def consume(message: ReceivedMessage) -> None:
        if failing[0]:
            raise ValueError("not yet")

    consumer = mq.consumer(
        group="billing", subscribe="orders", on_message=consume, ordered=True, consume_from="first"
    )
    producer = mq.producer()
    for number in range(3):
        producer.send("orders", b"%d" % number, sharding_key="one")
    mq.clock.advance("20s")
    assert set(bodies(consumer)) == {b"0"}
    failing[0] = False
    mq.clock.advance("2s")
    assert bodies(consumer)[-3:] == [b"0", b"1", b"2"]


def test_suspended_consumer_gets_nothing_until_it_is_resumed(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    producer = mq.producer()
    consumer.suspend()
    mq.clock.advance("16s")
    producer.send("orders", b"tea")
    mq.clock.advance("1m")
    assert bodies(consumer) == []
    consumer.resume()
    mq.clock.advance("1s")
    assert bodies(consumer) == [b"tea"]


def test_subscription_can_change(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders", consume_from="first")
    producer = mq.producer()
    producer.send("payments", b"paid")
    consumer.subscribe("payments")
    assert bodies(consumer) == [b"paid"]
    consumer.unsubscribe("payments")
    producer.send("payments", b"paid again")
    assert bodies(consumer) == [b"paid"]


def test_broadcast_reaches_every_member_and_writes_no_file(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    options = {"group": "audit", "subscribe": "orders", "message_model": "BROADCASTING"}
    members = [mq.consumer(**options) for _ in range(2)]  # type: ignore[arg-type]
    mq.producer().send("orders", b"tea")
    mq.clock.advance("1m")
    assert [bodies(one) for one in members] == [[b"tea"], [b"tea"]]
    assert list(home.iterdir()) == []


# -- functions ----------------------------------------------------------------------------------


def test_function_may_use_producers_and_the_cluster(mq: fakemq.Cluster) -> None:
    producer = mq.producer()

    def pay(message: ReceivedMessage) -> None:
        sent = producer.send("payments", b"for " + message.body)
        assert sent.status is SendStatus.SEND_OK
        assert sent.message_id in {one.msg_id for one in mq.messages("payments")}

    orders = mq.consumer(group="billing", subscribe="orders", on_message=pay)
    payments = mq.consumer(group="ledger", subscribe="payments")
    producer.send("orders", b"tea")
    producer.send("orders", b"milk")
    assert orders.failures == []
    assert bodies(payments) == [b"for tea", b"for milk"]


@pytest.mark.parametrize("call", ["advance", "settle", "reset", "stop"])
def test_function_cannot_wait_for_the_cluster(mq: fakemq.Cluster, call: str) -> None:
    calls = {
        "advance": lambda: mq.clock.advance("1s"),
        "settle": mq.settle,
        "reset": mq.reset,
        "stop": mq.stop,
    }
    consumer = mq.consumer(
        group="billing", subscribe="orders", on_message=lambda message: calls[call]()
    )
    mq.producer().send("orders", b"tea")
    (failure,) = consumer.failures
    assert isinstance(failure.error, FakemqError)
    assert mq.running


def test_function_may_close_its_own_consumer(mq: fakemq.Cluster) -> None:
    consumer: list[InsideConsumer] = []
    one = mq.consumer(
        group="billing", subscribe="orders", on_message=lambda message: consumer[0].close()
    )
    consumer.append(one)
    mq.producer().send("orders", b"tea")
    assert one.closed
    assert bodies(one) == [b"tea"]


def test_coroutine_function_may_await_a_producer_of_the_cluster() -> None:
    async def test() -> None:
        async with fakemq.AsyncCluster(topics=TOPICS, clock="frozen") as mq:
            producer = mq.producer()

            async def pay(message: ReceivedMessage) -> None:
                await producer.send("payments", message.body)

            orders = mq.consumer(group="billing", subscribe="orders", on_message=pay)
            async with mq.consumer(group="ledger", subscribe="payments") as payments:
                await producer.send("orders", b"tea")
                await mq.settle()
                assert orders.failures == []
                assert bodies(payments) == [b"tea"]

    anyio.run(test)
    anyio.run(test, backend="trio")


def test_coroutine_function_that_awaits_a_loop_fails(mq: fakemq.Cluster) -> None:
    async def sleep(message: ReceivedMessage) -> None:
        await anyio.sleep(1)

    consumer = mq.consumer(group="billing", subscribe="orders", on_message=sleep)
    mq.producer().send("orders", b"tea")
    (failure,) = consumer.failures
    assert "sleep" in str(failure.error) or "loop" in str(failure.error)


def test_generator_function_takes_time_of_the_cluster(mq: fakemq.Cluster) -> None:
    ended: list[bytes] = []

    def slow(message: ReceivedMessage) -> Generator[str, None, None]:
        yield "14m"
        ended.append(message.body)

    consumer = mq.consumer(group="billing", subscribe="orders", on_message=slow)
    mq.producer().send("orders", b"tea")
    mq.clock.advance("13m")
    assert ended == []
    assert mq.group("billing").lag("orders") == 1
    mq.clock.advance("70s")
    assert ended == [b"tea"]
    assert mq.group("billing").lag("orders") == 0
    assert consumer.failures == []


def test_message_that_is_consumed_for_too_long_is_sent_back(mq: fakemq.Cluster) -> None:
    def slow(message: ReceivedMessage) -> Generator[str, None, None]:
        if message.reconsume_times == 0:
            yield "1h"

    consumer = mq.consumer(
        group="billing", subscribe="orders", on_message=slow, consume_timeout_ms=60_000
    )
    mq.producer().send("orders", b"tea")
    mq.clock.advance("3m")
    assert [message.reconsume_times for message in consumer.received] == [0, 1]


def test_failed_generator_function_sends_back(mq: fakemq.Cluster) -> None:
    def fail(message: ReceivedMessage) -> Generator[str, None, None]:
        yield "1s"
        raise ValueError("no")

    consumer = mq.consumer(group="billing", subscribe="orders", on_message=fail)
    mq.producer().send("orders", b"tea")
    mq.clock.advance("1s")
    assert len(consumer.failures) == 1
    mq.clock.advance("10s")
    assert len(consumer.received) == 2


# -- settle, deadlines, the end -----------------------------------------------------------------


def test_settle_moves_no_time(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    before_ms = mq.clock.now_ms()
    mq.seed("orders", [b"tea"])
    mq.settle()
    assert bodies(consumer) == [b"tea"]
    assert mq.clock.now_ms() == before_ms


def test_deadlines_have_the_name_of_their_client(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    kinds = {one.kind for one in mq.clock.timers() if one.owner == consumer.name}
    assert kinds >= {"heartbeat", "client_routes", "client_persist", "client_rebalance"}
    consumer.close()
    assert not [one for one in mq.clock.timers() if one.owner == consumer.name]


def test_member_that_is_partitioned_is_dropped_and_comes_back(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    partition = mq.partition("broker-a", consumer.name)
    mq.clock.advance("5m")
    assert mq.group("billing").members() == []
    partition.remove()
    mq.clock.advance("2m")
    assert [member.client_id for member in mq.group("billing").members()] == [consumer.name]


def test_reset_and_stop_end_the_clients_inside() -> None:
    with fakemq.Cluster(topics=TOPICS, clock="frozen") as mq:
        consumer = mq.consumer(group="billing", subscribe="orders")
        mq.reset()
        assert consumer.closed
        assert mq.group("billing").members() == []
        with pytest.raises(FakemqError, match=r"billing@inside-1> has ended"):
            consumer.suspend()
        consumer.close()
        producer = mq.producer()
    assert producer.closed
    assert consumer.received == []


def test_client_survives_a_restored_snapshot(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    producer = mq.producer()
    producer.send("orders", b"one")
    mq.clock.advance("10s")
    snapshot = mq.snapshot()
    producer.send("orders", b"two")
    mq.restore(snapshot)
    for number in range(4):
        producer.send("orders", b"%d" % number)
    mq.clock.advance("5m")
    assert not consumer.closed
    assert set(bodies(consumer)) >= {b"one", b"two", b"0", b"1", b"2", b"3"}


def test_equal_seeds_make_equal_journals() -> None:
    def journal() -> list[str]:
        options = {"topics": TOPICS, "clock": "frozen", "start_at": "2024-01-01", "seed": 7}
        with fakemq.Cluster(**options, namesrv_port=0) as mq:  # type: ignore[arg-type]

            def fail(message: ReceivedMessage) -> None:
                message.retry_later()

            mq.consumer(group="billing", subscribe="orders", on_message=fail)
            mq.consumer(group="billing", subscribe="orders")
            producer = mq.producer()
            for number in range(5):
                producer.send("orders", b"%d" % number)
            mq.clock.advance("30m")
            kinds = mq.journal.tail(100_000)
            return [f"{entry.at_ms} {type(entry.event).__name__}" for entry in kinds]

    assert journal() == journal()


def test_threads_may_share_a_producer(mq: fakemq.Cluster) -> None:
    producer, futures = mq.producer(), list[Future[int]]()

    def send(future: Future[int]) -> None:
        for _ in range(50):
            producer.send("orders", b"tea")
        future.set_result(1)

    for _ in range(4):
        futures.append(Future())
        threading.Thread(target=send, args=(futures[-1],)).start()
    assert sum(future.result(10) for future in futures) == 4
    assert len(mq.messages("orders")) == 200
