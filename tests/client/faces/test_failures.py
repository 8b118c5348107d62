"""What the errors of failed calls say: the cause, the place, and what to do, in this order."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import fakemq
from fakemq.client import (
    AsyncLitePullConsumer,
    AsyncProducer,
    AsyncPullScheduling,
    AsyncPushConsumer,
    LitePullConsumer,
    Message,
    MQBrokerError,
    MQClientError,
    Producer,
    PullConsumer,
    PullScheduling,
    PushConsumer,
    services,
)

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
LIMIT = 4 * 1024 * 1024


@pytest.fixture
def dead() -> str:
    """Return an address at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def use(make: Callable[[], Any]) -> None:
    with make() as face:
        face.send("orders", b"x")  # only a producer gets here


def use_async(make: Callable[[], Any]) -> None:
    async def main() -> None:
        async with make() as face:
            await face.send("orders", b"x")

    anyio.run(main)


async def pull(queue: object, context: object) -> None: ...


FACES: list[tuple[Callable[[Callable[[], Any]], None], Any, dict[str, Any]]] = [
    (use, Producer, {}),
    (use_async, AsyncProducer, {}),
    (use, PushConsumer, {"subscribe": "orders", "on_message": print}),
    (use_async, AsyncPushConsumer, {"subscribe": "orders", "on_message": print}),
    (use, LitePullConsumer, {"subscribe": "orders"}),
    (use_async, AsyncLitePullConsumer, {"subscribe": "orders"}),
    (use, PullConsumer, {"topics": "orders"}),
    (use, PullScheduling, {"callbacks": {"orders": print}}),
    (use_async, AsyncPullScheduling, {"callbacks": {"orders": pull}}),
]


@pytest.mark.parametrize(("use", "face", "options"), FACES)
def test_unreachable_name_server_is_one_error_of_every_face(
    dead: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    use: Any,
    face: Any,
    options: dict[str, Any],
) -> None:
    # The loop for routes would log the failure, too, where the end of the face takes 10 ms.
    monkeypatch.setattr(services, "FIRST_ROUTES_MS", 60_000)
    with caplog.at_level(logging.WARNING, "fakemq"), pytest.raises(ConnectionError) as found:
        use(lambda: face(dead, group="g", **options))
    reason = os.strerror(111) if os.name == "posix" else ""
    assert str(found.value).startswith(f"connect to [{dead}] failed: {reason}")
    assert str(found.value).endswith(
        "no name server answers, start one there or correct namesrv_addr"
    )
    assert not caplog.records


def test_lite_pull_consumer_that_assigns_has_it_when_it_asks(dead: str) -> None:
    with (
        LitePullConsumer(dead, group="g") as consumer,
        pytest.raises(ConnectionError, match="no name server answers"),
    ):
        consumer.fetch_message_queues("orders")


def test_host_without_an_address_is_named() -> None:
    with (
        Producer("no-such-host.invalid:9876", group="g") as producer,
        pytest.raises(ConnectionError, match="failed: the name of its host is not known: no name"),
    ):
        producer.send("orders", b"x")


def test_failed_send_names_its_tries_and_the_last_cause() -> None:
    with fakemq.Cluster(topics={"orders": 2}) as mq, Producer(mq.namesrv_addr, group="g") as p:
        p.send("orders", b"x")
        addr = mq.brokers[0].addr
        mq.brokers[0].kill()
        with pytest.raises(MQClientError) as found:
            p.send("orders", b"x")
    lines = str(found.value).split("\n")
    assert lines[0].startswith("Send [3] times, still failed, cost [")
    assert f", the last failure: connect to {addr} failed: " in lines[0]
    assert lines[1:] == [FAQ.strip()]


def test_send_that_is_late_says_so(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="g") as producer:
        producer.send("orders", b"x")
        for broker in mq.brokers:
            broker.pause()
        with pytest.raises(fakemq.FakemqError, match="the last failure: wait response on"):
            producer.send("orders", b"x", timeout_ms=60)
        for broker in mq.brokers:
            broker.resume()


def test_faq_is_the_last_line_alone(mq: fakemq.Cluster) -> None:
    producer = Producer(mq.namesrv_addr, group="g")
    with pytest.raises(MQClientError) as found:
        producer.send("orders", b"x")
    assert str(found.value) == (
        "The producer service state not OK, CREATE_JUST: use it in `with Producer(…)`, or call"
        f" start() first{FAQ}"
    )
    mq.faults.error("SEND_MESSAGE_V2", code="TOPIC_NOT_EXIST", remark=f"no topic{FAQ}", times=3)
    with producer, pytest.raises(MQClientError) as found:
        producer.send("orders", b"x")
    assert str(found.value).count(FAQ) == 1
    assert str(found.value).endswith(f"no topic{FAQ}")


def test_second_start_is_refused_with_advice(mq: fakemq.Cluster) -> None:
    producer = Producer(mq.namesrv_addr, group="g")
    with producer, pytest.raises(MQClientError, match="started once, RUNNING: a block starts it"):
        producer.start()
    with pytest.raises(MQClientError, match="SHUTDOWN_ALREADY: it was shut down: make another Pro"):
        producer.start()


def test_state_that_is_none_is_named(mq: fakemq.Cluster) -> None:
    def pay(message: Message) -> Any:
        return "commit"

    with (
        Producer(mq.namesrv_addr, group="g") as producer,
        pytest.raises(TypeError, match="the function returned 'commit': expected a LocalTransac"),
    ):
        producer.send_in_transaction(Message("orders", b"x"), pay)


@pytest.mark.parametrize("missing", [0, 1, 400])
def test_body_that_grows_over_the_limit_says_its_sizes(mq: fakemq.Cluster, missing: int) -> None:
    body = os.urandom(LIMIT - missing)
    with Producer(mq.namesrv_addr, group="g") as producer:
        with pytest.raises(MQBrokerError) as found:
            producer.send("orders", body)
        assert found.value.code == 13
        assert found.value.remark is not None
        assert found.value.remark.startswith("the message is illegal, maybe msg body or properties")
        assert f"The body has {len(body)} bytes, 4195" in str(found.value)
        assert str(found.value).endswith("when compressed.")
    with Producer(mq.namesrv_addr, group="h", compress_over_bytes=LIMIT + 1) as producer:
        assert producer.send("orders", body).status == "SEND_OK"


def test_error_of_a_users_function_keeps_its_text(mq: fakemq.Cluster) -> None:
    def fail(*_: object) -> Any:
        raise fakemq.FakemqError("the bank is closed")

    with Producer(mq.namesrv_addr, group="g") as producer:
        with pytest.raises(MQClientError, match="FakemqError: the bank is closed"):
            producer.send("orders", b"x", selector=fail)
        with pytest.raises(MQClientError, match=r"to <orders> fail: select .* the bank is closed"):
            producer.request("orders", b"x", selector=fail)
        with pytest.raises(fakemq.FakemqError, match=r"^the bank is closed$"):
            producer.send_in_transaction(Message("orders", b"x"), fail)
    inside = mq.consumer(group="b", subscribe="refunds", on_message=fail)
    mq.seed("refunds", [b"x"])
    mq.settle()
    assert str(inside.failures[0].error) == "the bank is closed"


def test_message_that_cannot_be_encoded_fails_its_send(mq: fakemq.Cluster) -> None:
    # It must not leave the send waiting for ever.
    class Odd(dict[str, str]):
        pass

    message = Message("orders", b"x")
    message.properties = Odd({"a": "b"})
    with Producer(mq.namesrv_addr, group="g") as producer, pytest.raises(TypeError):
        producer.send(message)
