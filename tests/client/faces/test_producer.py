"""The blocking producer: sending in every way, its life, and its errors."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait
from typing import Any

import pytest

import fakemq
from fakemq.client import (
    LocalTransactionState,
    Message,
    MQClientError,
    Producer,
    PushConsumer,
    ReceivedMessage,
    RemotingError,
    RequestTimeoutError,
    SendResult,
    SendStatus,
    create_reply_message,
)
from fakemq.clock.machine_time import real_wall_ms
from fakemq.protocol.message_id import unique_id_time_ms


def bodies(mq: fakemq.Cluster, topic: str = "orders") -> list[bytes]:
    return sorted(message.body for message in mq.messages(topic))


def test_send_returns_where_the_message_is(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as p:
        r = p.send("orders", b"body", tags="a", keys="k")
    (stored,) = mq.messages("orders")
    assert r.status is SendStatus.SEND_OK
    assert (r.broker_name, r.queue_id, r.queue_offset) == (
        *(stored.broker, stored.queue_id, stored.offset),
    )
    assert r.message_id == stored.properties["UNIQ_KEY"]
    assert (stored.tags, stored.keys) == ("a", "k")


def test_send_takes_a_message_or_its_parts(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as p:
        p.send(Message("orders", "text", tags="t"))
        p.send("orders", body="parts", keys=["o-1", "c-7"], properties={"amount": "5"})
    parts, text = sorted(mq.messages("orders"), key=lambda one: one.body)
    assert (text.body, text.tags) == (b"text", "t")
    assert (parts.keys, parts.properties["amount"]) == ("o-1 c-7", "5")


def test_queue_is_chosen_by_key_selector_or_name(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as p:
        queues = p.queues("orders")
        assert len(queues) == 4
        assert p.send("orders", b"1", queue=queues[3]).queue == queues[3]
        assert p.send("orders", b"2", selector=lambda all_of, _: all_of[2]).queue == queues[2]
        by_key = {p.send("orders", b"3", sharding_key="o-1").queue for _ in range(5)}
        assert len(by_key) == 1
        assert p.send("orders", b"4", selector="random").queue in queues


def test_two_ways_to_choose_a_queue_are_refused(mq: fakemq.Cluster) -> None:
    twice = pytest.raises(TypeError, match="sharding_key and selector each choose the queue")
    with Producer(mq.namesrv_addr, group="g") as p, twice:
        p.send("orders", b"x", sharding_key="a", selector="random")


def test_arguments_beside_a_message_are_refused(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as p:
        send: Any = p.send
        with pytest.raises(TypeError, match="tags beside a Message"):
            send(Message("orders", b"x"), tags="t")
        with pytest.raises(TypeError, match="body beside a Message"):
            send(Message("orders", b"x"), b"x")
        with pytest.raises(TypeError, match="no body"):
            send("orders")
        with pytest.raises(TypeError, match="expected a Message"):
            send(b"orders")
    assert not mq.messages("orders")


def test_futures_of_many_sends_are_done_at_once(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as p:
        futures = [p.send_async("orders", str(number)) for number in range(100)]
        done, _ = wait(futures, timeout=30)
    assert {future.result().status for future in done} == {SendStatus.SEND_OK}
    assert len(bodies(mq)) == 100


def test_callback_of_a_future_may_use_the_producer(mq: fakemq.Cluster) -> None:
    answered: list[SendResult] = []
    with Producer(mq.namesrv_addr, group="g") as p:

        def called(future: Future[SendResult]) -> None:
            answered.append(p.send("orders", f"after {future.result().queue_id}", queue=queue))

        queue = p.queues("orders")[0]
        p.send_async("orders", b"first", queue=queue).add_done_callback(called)
    assert len(answered) == 1  # the shutdown has waited for the send and for its callback
    assert bodies(mq) == [b"after 0", b"first"]


def test_failed_callback_is_logged(mq: fakemq.Cluster, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("callback")

    with Producer(mq.namesrv_addr, group="g") as p:
        p.send_async("orders", b"x").add_done_callback(fail)
    assert "RuntimeError: callback" in caplog.text


def test_error_of_an_asynchronous_send_is_in_its_future(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as p:
        future = p.send_async("orders", b"")
        with pytest.raises(MQClientError, match="the message body length is zero"):
            future.result(timeout=30)


def test_batches_are_split_by_size(mq: fakemq.Cluster) -> None:
    messages = [Message("orders", bytes(300)) for _ in range(10)]
    with Producer(mq.namesrv_addr, group="g", max_message_bytes=2_000) as p:
        assert len(p.send_batches(messages)) > 1
        assert p.send_batch(messages[:2]).message_id.count(",") == 1
        with pytest.raises(MQClientError):
            p.send_batch(messages)
    assert len(bodies(mq)) == 12


def test_oneway_message_arrives(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as p:
        p.send_oneway("orders", b"lost?", sharding_key=7)
        mq.wait_for(lambda: bodies(mq) == [b"lost?"])


def test_transaction_commits_by_the_result_of_its_function(mq: fakemq.Cluster) -> None:
    def execute(message: Message) -> LocalTransactionState:
        assert threading.current_thread() is not threading.main_thread()
        if message.body == b"commit":
            return LocalTransactionState.COMMIT_MESSAGE
        return LocalTransactionState.ROLLBACK_MESSAGE

    with Producer(mq.namesrv_addr, group="g") as p:
        sent = p.send_in_transaction(Message("orders", b"rollback"), execute)
        assert sent.state is LocalTransactionState.ROLLBACK_MESSAGE
        assert (sent.status, sent.message_id) == ("SEND_OK", sent.sent.msg_id)
        assert (sent.broker_name, sent.queue_id) == (sent.sent.broker_name, sent.sent.queue_id)
        assert sent.queue_offset == sent.sent.queue_offset
        p.send_in_transaction(Message("orders", b"commit"), execute)
        mq.wait_for(lambda: bodies(mq) == [b"commit"])


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="its time zone cannot be set")
def test_message_id_counts_from_local_midnight(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "EST+5")
        time.tzset()
        with Producer(mq.namesrv_addr, group="g") as p:
            sent = p.send("orders", b"x")
    time.tzset()
    now_ms = real_wall_ms()
    made_ms = unique_id_time_ms(sent.message_id, now_ms, -5 * 3_600_000)
    assert now_ms - 60_000 < made_ms <= now_ms


def test_check_decides_what_the_function_left_open(mq: fakemq.Cluster) -> None:
    mq.clock.freeze()
    asked: list[bytes] = []

    def check(half: Any) -> LocalTransactionState:
        asked.append(half.body)
        return LocalTransactionState.COMMIT_MESSAGE

    with Producer(mq.namesrv_addr, group="g", check=check) as p:
        # A broker asks those whose heartbeat it has: the first one comes after a second.
        mq.wait_for(lambda: len(mq.journal.find("MemberChanged", group="g")) == 2)
        p.send_in_transaction(Message("orders", b"tea"), lambda _: None)
        mq.run_until(lambda: bodies(mq) == [b"tea"], at_most="5m")
    mq.clock.unfreeze()
    assert asked == [b"tea"]


def test_request_without_a_reply_times_out(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as p:
        p.send("orders", b"first")  # so that the time is not spent on routes and connections
        with pytest.raises(RequestTimeoutError):
            p.request("orders", b"?", timeout_ms=300)


# -- life -------------------------------------------------------------------------------------


def test_producer_that_does_not_run_says_what_to_do(mq: fakemq.Cluster) -> None:
    p = Producer(mq.namesrv_addr, group="g")
    assert p.state.name == "CREATE_JUST"
    for send in (p.send, p.send_async, p.send_oneway, p.request, p.request_async):
        with pytest.raises(MQClientError, match=r"not OK, CREATE_JUST(.|\n)*call start\(\) first"):
            send("orders", b"x")
    p.shutdown()  # nothing to do
    assert p.start() is p
    assert p.state.name == "RUNNING"
    with pytest.raises(MQClientError, match="maybe started once, RUNNING"):
        p.start()
    p.close()
    p.close()
    assert p.state.name == "SHUTDOWN_ALREADY"
    with pytest.raises(MQClientError, match="make another Producer"):
        p.send("orders", b"x")
    with pytest.raises(MQClientError, match="maybe started once, SHUTDOWN_ALREADY"):
        p.start()


def test_threads_end_with_the_producer(mq: fakemq.Cluster) -> None:
    before = set(threading.enumerate())
    with Producer(mq.namesrv_addr, group="g") as p:
        p.send("orders", b"x", selector=lambda queues, _: queues[0])
        assert set(threading.enumerate()) - before
    assert not set(threading.enumerate()) - before


def test_group_that_cannot_be_leaves_no_thread(mq: fakemq.Cluster) -> None:
    before = set(threading.enumerate())
    p = Producer(mq.namesrv_addr, group="DEFAULT_PRODUCER")
    with pytest.raises(MQClientError, match="producerGroup can not equal DEFAULT_PRODUCER"):
        p.start()
    assert p.state.name == "START_FAILED"
    with pytest.raises(MQClientError, match="its start has failed: make another Producer"):
        p.send("orders", b"x")
    assert not set(threading.enumerate()) - before


def test_name_server_that_does_not_answer_fails_the_send_in_time(mq: fakemq.Cluster) -> None:
    with Producer("127.0.0.1:1", group="g") as p, pytest.raises(RemotingError):
        p.send("orders", b"x", timeout_ms=1_000)


@pytest.mark.parametrize("addr", ["", " ; ", 9876, None])
def test_name_server_must_be_named(addr: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with pytest.raises(fakemq.ConfigError, match="expected 'host:port'"):
        Producer(addr, group="g")


def test_name_server_may_be_in_the_environment(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", mq.namesrv_addr)
    with Producer(group="g") as p:
        assert p.send("orders", b"x").status == "SEND_OK"


def test_unknown_option_is_refused_with_the_nearest() -> None:
    options: dict[str, Any] = {"send_timout_ms": 5}
    with pytest.raises(TypeError, match=r"Producer\(\) .*did you mean send_timeout_ms"):
        Producer("127.0.0.1:1", group="g", **options)


@pytest.mark.parametrize(
    ("option", "value"),
    [("send_timeout_ms", "5"), ("trace", 1), ("namespace", None), ("vip_channel", "no")],
)
def test_option_of_another_type_is_refused(option: str, value: object) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(fakemq.ConfigError, match=f"{option}={value!r}: expected"):
        Producer("127.0.0.1:1", group="g", **options)


# -- clients that are shared ------------------------------------------------------------------


def test_equal_instance_names_share_one_client(mq: fakemq.Cluster) -> None:
    before = set(threading.enumerate())
    with Producer(mq.namesrv_addr, group="a", instance_name="one") as first:
        with Producer(mq.namesrv_addr, group="b", instance_name="one") as second:
            assert first.client_id == second.client_id == "127.0.0.1@one"
            assert len(set(threading.enumerate()) - before) == 1
        assert first.send("orders", b"x").status is SendStatus.SEND_OK
    assert not set(threading.enumerate()) - before
    with Producer(mq.namesrv_addr, group="a", instance_name="one") as third:
        assert third.send("orders", b"x").status is SendStatus.SEND_OK


def test_producers_without_a_name_have_clients_of_their_own(mq: fakemq.Cluster) -> None:
    with (
        Producer(mq.namesrv_addr, group="g") as first,
        Producer(mq.namesrv_addr, group="g") as second,
    ):
        assert first.client_id != second.client_id


def test_second_producer_of_a_group_in_one_client_is_refused(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g", instance_name="one") as first:
        second = Producer(mq.namesrv_addr, group="g", instance_name="one")
        with pytest.raises(MQClientError, match=r"group\[g\] has been created before"):
            second.start()
        assert second.state.name == "CREATE_JUST"
        assert first.send("orders", b"x").status is SendStatus.SEND_OK
    with second:  # the name is free now
        assert second.send("orders", b"x").status is SendStatus.SEND_OK


def test_shared_client_needs_equal_options(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="a", instance_name="one"):
        other = Producer(
            mq.namesrv_addr, group="b", instance_name="one", heartbeat_interval_ms=1_000
        )
        with pytest.raises(
            MQClientError, match=r"heartbeat_interval_ms=30000, not 1000.*another instance_name"
        ):
            other.start()


def test_reply_comes_in_a_future(mq: fakemq.Cluster) -> None:
    def answer(message: ReceivedMessage) -> None:
        p.send(create_reply_message(message, b"3.50"))

    with (
        Producer(mq.namesrv_addr, group="g") as p,
        PushConsumer(
            mq.namesrv_addr,
            group="pricing",
            subscribe="orders",
            on_message=answer,
            consume_from="first",
        ),
    ):
        reply = p.request_async("orders", b"?", timeout_ms=30_000)
        p.send("prices", b"first")  # so that the time is not spent on routes
        with pytest.raises(RequestTimeoutError):
            p.request_async(Message("prices", b"?"), timeout_ms=300).result(timeout=30)
        assert reply.result(timeout=30).body == b"3.50"
