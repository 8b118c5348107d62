"""Functions that cannot be called are refused when they are passed, not with the first message."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

import fakemq
from fakemq.client import (
    AsyncProducer,
    AsyncPullScheduling,
    AsyncPushConsumer,
    LitePullConsumer,
    Message,
    Producer,
    PullScheduling,
    PushConsumer,
)

ADDR = "127.0.0.1:1"
Face = Any
Pass = Callable[[Face], object]


def nothing() -> None: ...
def one(message: object) -> None: ...
def two(first: object, second: object) -> None: ...
def named(*, message: object) -> None: ...
def generator(message: object) -> Iterator[object]:
    yield message


async def coroutine(message: object) -> None: ...
async def async_generator(message: object) -> AsyncIterator[object]:
    yield message


class Called:
    def __call__(self, message: object) -> None: ...
    async def later(self, message: object) -> None: ...


BLOCKING: list[Callable[[object], object]] = [
    lambda function: PushConsumer(ADDR, group="g", on_message=function),  # type: ignore[arg-type]
    lambda function: PushConsumer(ADDR, group="g", on_messages=function),  # type: ignore[arg-type]
    lambda function: PushConsumer(ADDR, group="g").on("orders")(function),  # type: ignore[type-var]
    lambda function: Producer(ADDR, group="g", check=function),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("call", BLOCKING)
@pytest.mark.parametrize(
    ("function", "text"),
    [
        (nothing, "is nothing(): expected a function that can be called as nothing(message"),
        (two, "is two(first: 'object', second: 'object'): expected a function that can be called"),
        (named, "can be called as named(message"),
        (Called, "is Called(): expected a function that can be called as Called(message"),
        (lambda: None, "is <lambda>(): expected a function"),
        (generator, "is a generator function, which P"),
        (async_generator, "is an async generator function, which P"),
        (coroutine, "is an async function, which P"),
        (Called().later, "is an async function, which P"),
        (AsyncMock(), "is an async function, which P"),
        ("charge", "='charge': expected a function"),
    ],
)
def test_blocking_face_refuses(call: Callable[[object], object], function: Any, text: str) -> None:
    with pytest.raises(TypeError) as found:
        call(function)
    assert text in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("call", BLOCKING)
@pytest.mark.parametrize("function", [one, Called(), partial(two, 1), print, [].append, Mock()])
def test_blocking_face_takes(call: Callable[[object], object], function: Any) -> None:
    call(function)


def test_async_function_of_a_blocking_consumer_is_answered_with_the_async_one() -> None:
    wrong: Any = coroutine
    with pytest.raises(TypeError) as found:
        PushConsumer(ADDR, group="g", on_message=wrong)
    assert str(found.value) == (
        "on_message is an async function, which PushConsumer cannot call: use AsyncPushConsumer, or"
        " a plain function"
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda function: AsyncPushConsumer(ADDR, group="g", on_message=function),
        lambda function: AsyncPushConsumer(ADDR, group="g").on("orders")(function),
        lambda function: AsyncProducer(ADDR, group="g", check=function),
    ],
)
def test_async_face_takes_plain_and_async_functions(call: Callable[[object], object]) -> None:
    call(one)
    call(coroutine)
    call(Called().later)
    with pytest.raises(TypeError, match=r"generator function, .* use a plain or an async function"):
        call(generator)
    with pytest.raises(TypeError, match="can be called as nothing"):
        call(nothing)


def test_schedules_check_their_functions() -> None:
    wrong: Any = one
    with pytest.raises(TypeError, match=r"of orders is one\(.*as one\(queue, context\)"):
        PullScheduling(ADDR, group="g", callbacks={"orders": wrong})
    with pytest.raises(TypeError, match=r"is a plain function, .* PullScheduling takes plain ones"):
        AsyncPullScheduling(ADDR, group="g", callbacks={"orders": wrong})


@pytest.mark.parametrize("face", [PushConsumer, AsyncPushConsumer])
def test_on_without_a_topic_is_refused(face: Face) -> None:
    with pytest.raises(TypeError, match=r'on: expected a topic, as in @consumer\.on\("orders"\)'):
        face(ADDR, group="g").on(one)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'topic'"):
        face(ADDR, group="g").on()
    with pytest.raises(fakemq.ConfigError, match=r"topic=\['a', 'b'\]: expected text"):
        face(ADDR, group="g").on(["a", "b"])


def test_on_of_a_schedule_without_a_topic_is_refused() -> None:
    wrong: Any = two
    with pytest.raises(TypeError, match=r'on: expected a topic, as in @scheduling\.on\("orders"\)'):
        PullScheduling(ADDR, group="g").on(wrong)


def test_local_transaction_is_checked_before_the_half_message_is_sent(mq: fakemq.Cluster) -> None:
    wrong: Any = nothing
    later: Any = coroutine
    with Producer(mq.namesrv_addr, group="g") as producer:
        with pytest.raises(TypeError, match=r"execute is nothing\(\): expected a function"):
            producer.send_in_transaction(Message("orders", b"x"), wrong)
        with pytest.raises(TypeError, match=r"execute is an async function, .*use AsyncProducer"):
            producer.send_in_transaction(Message("orders", b"x"), later)
    assert not mq.journal.find("MessageChecked")


def test_listeners_of_queues_are_checked(mq: fakemq.Cluster) -> None:
    wrong: Any = one
    with LitePullConsumer(mq.namesrv_addr, group="g") as consumer:
        with pytest.raises(TypeError, match=r"as one\(topic, all_queues, own_queues\)"):
            consumer.subscribe("orders", listener=wrong)
        with pytest.raises(TypeError, match=r"as one\(topic, queues\)"):
            consumer.register_topic_message_queue_change_listener("orders", wrong)


def test_inside_consumer_takes_generators_and_refuses_what_it_cannot_call(
    mq: fakemq.Cluster,
) -> None:
    wrong: Any = async_generator
    mq.consumer(group="a", subscribe="orders", on_message=generator)
    mq.consumer(group="b", subscribe="orders", on_message=coroutine)
    with pytest.raises(TypeError, match="on_message is an async generator function"):
        mq.consumer(group="c", subscribe="orders", on_message=wrong)
    missing: Any = nothing
    for kind in ("inside", "blocking"):
        with pytest.raises(TypeError, match=r"on_message is nothing\(\)"):
            mq.consumer(group="d", subscribe="orders", on_message=missing, kind=kind)
