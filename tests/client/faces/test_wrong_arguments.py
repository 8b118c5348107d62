"""Wrong arguments of faces are refused in one clear line, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fakemq
from fakemq.client import AsyncProducer, Message, Producer, RequestTimeoutError

Wrong = tuple[Callable[[Any], object], str]

UNKNOWN: list[Wrong] = [
    (lambda p: p.send("orders", b"x", delayLevel=18), "did you mean delay_level"),
    (lambda p: p.send("orders", b"x", tag="z"), "did you mean tags"),
    (lambda p: p.send(Message("orders", b"x"), shard_key="z"), "did you mean sharding_key"),
    (lambda p: p.send_oneway("orders", b"x", delayLevel=1), "send_oneway.*delay_level"),
    (lambda p: p.request("orders", b"x", timeout=1), "request.*did you mean timeout_ms"),
    (lambda p: p.send_batch([Message("orders", b"x")], timeout=1), "send_batch.*timeout_ms"),
]
VALUES: list[Wrong] = [
    (lambda p: p.send("orders", b"x", selector="rand"), "selector='rand': expected a function"),
    (lambda p: p.send("orders", b"x", queue=0), "queue=0: expected one of the topic's queues"),
    (lambda p: p.send("orders", b"x", sharding_key=1.5), "sharding_key=1.5: expected text"),
    (lambda p: p.send("orders", b"x", timeout_ms="5"), "timeout_ms='5': expected a whole number"),
    (lambda p: p.send_batch([b"a"]), "messages has b'a': expected Messages"),
    (lambda p: p.send_batch(Message("orders", b"x")), "expected a list of Messages"),
    (lambda p: p.send_in_transaction("orders", print), "message='orders': expected a Message"),
    (lambda p: p.send_in_transaction(Message("orders", b"x"), 5), "execute=5: expected a function"),
]


@pytest.mark.parametrize(("call", "text"), UNKNOWN + VALUES)
def test_producers_refuse_wrong_arguments(
    mq: fakemq.Cluster, call: Callable[[Any], object], text: str
) -> None:
    refused = (TypeError, fakemq.ConfigError)
    with Producer(mq.namesrv_addr, group="g") as p, pytest.raises(refused, match=text) as found:
        call(p)
    assert "\n" not in str(found.value)
    with mq.producer(group="inside") as inside, pytest.raises(refused, match=text):
        call(inside)
    assert not mq.messages("orders")


@pytest.mark.anyio
@pytest.mark.parametrize(("call", "text"), UNKNOWN + VALUES)
async def test_async_producer_refuses_wrong_arguments(
    mq: fakemq.Cluster, call: Callable[[Any], Any], text: str
) -> None:
    async with AsyncProducer(mq.namesrv_addr, group="g") as p:
        with pytest.raises((TypeError, fakemq.ConfigError), match=text):
            await call(p)


def test_queues_of_a_number_are_refused(mq: fakemq.Cluster) -> None:
    wrong: Any = 4
    with (
        Producer(mq.namesrv_addr, group="g") as p,
        pytest.raises(fakemq.ConfigError, match="topic=4"),
    ):
        p.queues(wrong)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"tags": ["a", "b"]}, r"tags=\['a', 'b'\]: expected text"),
        ({"tags": b"a"}, "tags=b'a'"),
        ({"tags": 5}, "tags=5"),
        ({"keys": 5}, "keys=5: expected text, or several"),
        ({"keys": ["a", 5]}, "several texts"),
        ({"keys": "a\x01b"}, "keys has .*separate properties"),
        ({"tags": "a\x02b"}, "tags has .*separate properties"),
        ({"properties": {5: "a"}}, "properties has 5: 'a': expected text"),
        ({"properties": [1]}, r"properties=\[1\]"),
        ({"properties": {"a": "x\x01y\x02TAGS\x01evil"}}, "separate properties"),
        ({"properties": {"a\x02": "x"}}, "separate properties"),
    ],
)
def test_message_refuses_wrong_parts(parts: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        Message("orders", b"x", **parts)


def test_message_without_a_topic_is_refused() -> None:
    wrong: Any = None
    with pytest.raises(TypeError, match="topic=None: expected text"):
        Message(wrong, b"x")


def test_inside_request_takes_what_the_producer_takes(mq: fakemq.Cluster) -> None:
    with mq.producer(group="desk") as p, pytest.raises(RequestTimeoutError):
        p.request("orders", b"tea", tags="price", timeout_ms=100)
    (stored,) = mq.messages("orders")
    assert (stored.body, stored.tags) == (b"tea", "price")
