"""Assertions about messages, and their errors when they fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import fakemq
from fakemq.client import Message
from fakemq.cluster import AsyncCluster
from tests.support.consumer import Consumer, consuming
from tests.support.long_reads import result_of_slices

NEVER = "b'tea' of orders: never delivered: "


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as cluster:
        yield cluster


@pytest.fixture
def client(mq: fakemq.Cluster) -> Iterator[Consumer]:
    with consuming(mq) as client:
        yield client


def failure(claim: Callable[[], None]) -> list[str]:
    with pytest.raises(AssertionError) as raised:
        claim()
    return str(raised.value).splitlines()


def test_assert_sent_compares_sent_messages(mq: fakemq.Cluster) -> None:
    mq.assert_nothing_sent("orders")
    mq.seed("orders", [b"one"], keys="a b", tags="paid")
    mq.seed("orders", [b"two", b"two"])
    mq.assert_sent("orders")
    mq.assert_sent("orders", 3)
    mq.assert_sent("orders", bodies=["two", b"one", "two"])
    mq.assert_sent("orders", 1, keys="b")
    mq.assert_sent("orders", bodies=["one"], tags="paid")
    mq.assert_nothing_sent("nowhere")
    assert failure(lambda: mq.assert_nothing_sent("orders"))[:2] == [
        "expected: 0 messages in orders",
        "seen:     3: b'one', b'two', b'two'",
    ]
    assert failure(lambda: mq.assert_sent("orders", bodies=["one", "three"]))[0] == (
        "expected: 2 messages in orders: b'one', b'three'"
        " (missing b'three'; too many b'two', b'two')"
    )
    assert failure(lambda: mq.assert_sent("orders", 2, keys="a"))[0] == (
        "expected: 2 messages in orders with keys 'a'"
    )
    assert failure(lambda: mq.assert_sent("nowhere")) == [
        "expected: at least 1 message in nowhere",
        "seen:     0",
    ]


def test_long_assertion_lets_others_go_first(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["x"] * 3_000)
    result_of_slices(mq, lambda: mq.assert_sent("orders", 3_000))
    result_of_slices(mq, lambda: mq.assert_not_redelivered("orders", "billing"))
    result_of_slices(mq, lambda: mq.assert_consumed("orders", "billing", 0))


def test_long_body_is_cut_in_the_error(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"x" * 1000])
    mq.broker("broker-a").pause()
    assert failure(lambda: mq.assert_sent("orders", 9))[2:4] == [
        "most likely:",
        "  broker-a-0 is paused",
    ]
    mq.broker("broker-a").resume()
    assert "x" * 60 not in "\n".join(failure(lambda: mq.assert_sent("orders", 2)))


def test_assert_consumed_counts_consumed_messages(mq: fakemq.Cluster, client: Consumer) -> None:
    for body in (b"one", b"two"):
        client.send(Message("orders", body))
    assert failure(lambda: mq.assert_consumed("orders", "billing"))[:2] == [
        "expected: 2 messages of orders consumed by billing",
        "seen:     0",
    ]
    one, _ = client.take("orders")
    mq.assert_consumed("orders", "billing", 2)
    client.send_back(mq.broker("broker-a").addr, one)
    mq.assert_consumed("orders", "billing", bodies=["two"])
    mq.assert_not_redelivered("orders", "billing")
    mq.assert_delivered_once("orders", "billing")
    mq.clock.advance("10s")
    client.take("%RETRY%billing")
    mq.assert_consumed("orders", "billing")
    assert failure(lambda: mq.assert_not_redelivered("orders", "billing"))[:2] == [
        "expected: every message of orders delivered to billing at most once",
        "seen:     b'one' 2 times",
    ]
    assert failure(lambda: mq.assert_consumed("orders", "shipping"))[1] == "seen:     0"


def test_message_that_a_filter_removed_is_not_consumed(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["tea"], tags="paid")
    consumer = mq.consumer(group="billing", subscribe={"orders": "payed"}, consume_from="first")
    mq.settle()
    assert consumer.received == []
    passed = "its filter 'payed' does not match, passed over by the offset 1"
    assert f"not delivered to billing: {passed}" in str(mq.messages("orders")[0].biography)
    assert failure(lambda: mq.assert_consumed("orders", "billing"))[:4] == [
        "expected: 1 message of orders consumed by billing",
        "seen:     0",
        "most likely:",
        f"  {NEVER}tag filter 'payed' of group billing does not match tag 'paid'",
    ]
    assert failure(lambda: mq.assert_consumed("orders", "billing", bodies=["tea"]))[1] == (
        "seen:     0"
    )
    consumer.close()
    assert mq.diagnosis("orders", "billing") == [
        f"{NEVER}filter 'payed' of group billing did not match tag 'paid'"
    ]


def test_message_after_a_reset_of_offsets_is_consumed_once_received(
    mq: fakemq.Cluster, client: Consumer
) -> None:
    mq.seed("orders", ["tea"])
    (queue,) = client.subscribe_queues("orders")
    client.update_offset(queue, 1, oneway=False)
    assert failure(lambda: mq.assert_consumed("orders", "billing"))[1] == "seen:     0"
    client.update_offset(queue, 0, oneway=False)
    client.take("orders", commit=False)
    assert failure(lambda: mq.assert_consumed("orders", "billing"))[1] == "seen:     0"
    client.update_offset(queue, 1, oneway=False)
    mq.assert_consumed("orders", "billing")


def test_undelivered_message_is_not_delivered_once(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"one"])
    mq.assert_not_redelivered("orders", "billing")
    assert failure(lambda: mq.assert_delivered_once("orders", "billing"))[:4] == [
        "expected: every message of orders delivered to billing once",
        "seen:     b'one' 0 times",
        "most likely:",
        "  b'one' of orders: never delivered: group billing has no member",
    ]


@pytest.mark.parametrize("topic", ["orders", "refunds"])
def test_topic_without_messages_has_none_that_was_delivered(
    mq: fakemq.Cluster, client: Consumer, topic: str
) -> None:
    for group in ("billing", "reports"):
        for claim in (mq.assert_delivered_once, mq.assert_consumed):
            with pytest.raises(AssertionError) as failure:
                claim(topic, group)
            first, *rest = str(failure.value).splitlines()
            assert first.startswith(f"expected: at least 1 message of {topic} ")
            assert rest in (["seen:     0"], ["seen:     0", ""])
        mq.assert_not_redelivered(topic, group)


def test_assert_dead_letters_finds_dead_letters(mq: fakemq.Cluster, client: Consumer) -> None:
    client.send(Message("orders", b"one"))
    (message,) = client.take("orders")
    mq.assert_in_dlq("billing", 0)
    assert failure(lambda: mq.assert_in_dlq("billing"))[0] == (
        "expected: at least 1 message in %DLQ%billing"
    )
    client.send_back(mq.broker("broker-a").addr, message, max_retries=0)
    mq.assert_in_dlq("billing", bodies=["one"])
    assert "seen:     0" in failure(lambda: mq.assert_consumed("orders", "billing"))


def test_error_has_a_limited_number_of_biographies(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"x"] * 7)
    assert failure(lambda: mq.assert_nothing_sent("orders"))[-1] == "and 2 more"


def test_error_has_a_limited_number_of_messages(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"x"] * 25)
    shown = ", ".join(["b'x'"] * 20)
    for lines in (
        failure(lambda: mq.assert_nothing_sent("orders")),
        failure(lambda: mq.assert_sent("orders", bodies=[])),
    ):
        assert lines[1] == f"seen:     25: {shown} and 5 more"
    often = ", ".join(["b'x' 0 times"] * 20)
    lines = failure(lambda: mq.assert_delivered_once("orders", "billing"))
    assert lines[1] == f"seen:     {often} and 5 more"


def test_error_names_pending_faults(mq: fakemq.Cluster) -> None:
    mq.faults.silence("broker-a")
    mq.clock.advance("30s")
    lines = failure(lambda: mq.assert_sent("orders"))
    assert "  fault 1 silence broker-a-0 hit once" in lines
    assert any(line.startswith("pending: <fault 1 silence") for line in lines)


def test_asynchronous_cluster_has_the_same_assertions(mq: fakemq.Cluster) -> None:
    face = AsyncCluster.of(mq)
    face.seed("orders", [b"one"])
    face.assert_sent("orders", 1)
    assert face.messages("orders")[0].biography == mq.messages("orders")[0].biography


def test_mistyped_topic_is_refused() -> None:
    with fakemq.Cluster(topics={"orders": 1, "orders-1": 1}) as mq:
        for claim in (
            lambda: mq.assert_nothing_sent("ordesr"),
            lambda: mq.assert_sent("ordesr", 0),
            lambda: mq.assert_delivered_once("ordesr", "billing"),
            lambda: mq.assert_not_redelivered("ordesr", "billing"),
            lambda: mq.diagnosis("ordesr"),
            lambda: mq.delayed("ordesr"),
        ):
            with pytest.raises(LookupError, match=r"no topic 'ordesr'; did you mean orders\?"):
                claim()
        mq.assert_nothing_sent("refunds")  # one that a producer may have made
        mq.assert_nothing_sent("orders-2")


def test_invalid_assertion_is_refused() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        with pytest.raises(ValueError, match="count=-1: expected a whole number, 0 or more"):
            mq.assert_sent("orders", -1)
        with pytest.raises(TypeError, match="expected a list of bodies"):
            mq.assert_sent("orders", bodies="ab")
