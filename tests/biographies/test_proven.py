"""A diagnosis names no cause that the journal does not prove, and says nothing of a sound life."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import fakemq
from fakemq.client import LocalTransactionState, Message
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.offset import ResetOffsetRequestHeader
from tests.support.calls import calls_of
from tests.support.reports import GROUP, ask, consume

KEY = {"__SHARDINGKEY": "k"}
ID = {"UNIQ_KEY": "7F0000010000000000000000000000AA"}


# -- keys in several queues -------------------------------------------------------------------


def split(mq: fakemq.Cluster) -> str:
    """Return what is said of messages of one key in several queues."""
    (line,) = [one for one in mq.diagnosis("orders") if "so their order is lost" in one]
    return line.rpartition(": ")[2]


@pytest.fixture
def keyed() -> fakemq.Cluster:
    return fakemq.Cluster(clock="frozen", topics={"orders": 1}, reference="5.5.0", grpc=True)


def test_key_is_split_by_its_sender(keyed: fakemq.Cluster) -> None:
    with keyed as mq:
        mq.topic("orders").set_queues(2)  # before the first message
        shop = mq.producer()
        for body in (b"a", b"b", b"c"):
            shop.send(Message("orders", body, properties=KEY))
        assert split(mq) == "their sender chose the queues by something else"


def test_key_is_split_by_its_sender_although_another_topic_changed(keyed: fakemq.Cluster) -> None:
    with keyed as mq:
        mq.topic("orders").set_queues(2)
        shop = mq.producer()
        for body in (b"a", b"b", b"c"):
            shop.send(Message("orders", body, properties=KEY))
            mq.create_topic(f"other-{body.decode()}", 1)
        assert split(mq) == "their sender chose the queues by something else"


def test_key_is_split_by_its_sender_more_often_than_its_topic_changed(
    keyed: fakemq.Cluster,
) -> None:
    with keyed as mq:
        mq.topic("orders").set_queues(2)
        shop = mq.producer()
        for number in range(6):
            shop.send(Message("orders", b"%d" % number, properties=KEY))
            if number == 1:
                mq.topic("orders").set_queues(3)
        assert split(mq) == "their sender chose the queues by something else"


def test_key_is_split_by_a_change_of_its_topic(keyed: fakemq.Cluster) -> None:
    with keyed as mq:
        shop = mq.producer()
        shop.send(Message("orders", b"a", properties=KEY))
        mq.topic("orders").set_queues(2)
        mq.clock.advance("1m")  # the client asks for the route again
        while len({one.queue_id for one in mq.messages("orders")}) < 2:
            shop.send(Message("orders", b"b", properties=KEY))
        assert split(mq) == "its topic was changed meanwhile"


# -- losses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_stopped_broker_with_a_disk_has_lost_nothing(tmp_path: object, end: str) -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}, store=str(tmp_path)) as mq:
        mq.producer().send("orders", b"one")
        (message,) = mq.messages("orders")
        getattr(mq.broker("broker-a"), end)()
        found = mq.diagnosis("orders")
        said = f"{message.msg_id} of orders: never delivered: its broker broker-a-0 is stopped"
        assert found == [said]
        with pytest.raises(AssertionError) as failed:
            mq.assert_sent("orders", 2)
        assert "lost by" not in str(failed.value)
        mq.broker("broker-a").restart()
        assert "lost" not in "".join(mq.diagnosis("orders"))


def test_stopped_slave_with_a_disk_has_what_it_copied(tmp_path: object) -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}, slaves=1, store=str(tmp_path)) as mq:
        mq.producer().send("orders", b"one")
        mq.clock.advance("10s")
        mq.broker("broker-a-1").stop()
        assert "not replicated" not in "".join(mq.diagnosis("orders"))
        mq.producer().send("orders", b"two")
        (line,) = [one for one in mq.diagnosis("orders") if "not replicated" in one]
        assert line.startswith("b'two' of orders: not replicated to broker-a-1")


def test_dead_letter_of_a_stopped_broker_is_named(tmp_path: object) -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}, store=str(tmp_path)) as mq:
        consume(mq, "0s", on_message=lambda message: message.retry_later(-1))
        mq.seed("orders", ["one"])
        mq.clock.advance("1m")
        (dead,) = mq.messages("%DLQ%billing")
        mq.broker("broker-a").stop()
        assert mq.diagnosis("%DLQ%billing") == [
            f"{dead.msg_id} of %DLQ%billing: a dead letter: its group gave it up"
        ]
        (line,) = mq.diagnosis("orders")
        assert line.endswith(": a dead letter of billing, which gave it up: it is in %DLQ%billing")


def test_answer_that_a_fault_dropped_is_not_what_a_producer_got() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        mq.faults.close("send", topic="orders", at="before_reply", times=1)
        mq.producer().send(Message("orders", b"one", properties=ID))
        (line,) = [one for one in mq.diagnosis("orders") if "stored twice" in one]
        first, second = line.rpartition("; sent ")[2].split(", at ")
        assert "(fault 1 " in first
        assert second.endswith("(answered SEND_OK)")


# -- resets -----------------------------------------------------------------------------------


def test_reset_of_many_queues_is_kept_once_and_named_in_steps() -> None:
    queues, requests = 400, 4
    with fakemq.Cluster(clock="frozen", topics={"orders": queues}) as mq:
        mq.seed("orders", ["one"])
        consume(mq)
        header = ResetOffsetRequestHeader(topic="orders", group=GROUP, timestamp=0, is_force=True)
        for _ in range(requests):
            ask(mq, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
            mq.clock.advance("1m")
        assert [one for one in mq.diagnosis("orders", GROUP) if "was reset in orders to" in one]
        steps = mq._diagnosis("orders", GROUP)  # the journal is read
        calls = []
        ended: list[object] = []

        def look(core: object) -> None:
            while not ended:
                calls.append(calls_of(lambda: ended.append(1) if next(steps, 1) else None))

        mq.inspect(look)
        assert max(calls) < queues


# -- a sound life -----------------------------------------------------------------------------


def send(mq: fakemq.Cluster, number: int) -> None:
    mq.producer().send(Message("orders", b"%d" % number, tags="a", keys=f"k{number}"))


def send_delayed(mq: fakemq.Cluster, number: int) -> None:
    mq.producer().send(Message("orders", b"%d" % number, delay_level=2))
    mq.clock.advance("10s")


def send_batch(mq: fakemq.Cluster, number: int) -> None:
    mq.producer().send_batch([Message("orders", b"%d-%d" % (number, part)) for part in range(3)])


def commit(mq: fakemq.Cluster, number: int) -> None:
    done = LocalTransactionState.COMMIT_MESSAGE
    shop = mq.producer(group=f"shop-{number}", check=lambda _: done)
    shop.send_in_transaction(Message("orders", b"%d" % number), lambda _: done)


def send_of_one_key(mq: fakemq.Cluster, number: int) -> None:
    for part in range(2):
        body = b"%d-%d" % (number, part)
        mq.producer().send(Message("keyed", body, properties={"__SHARDINGKEY": f"key-{number}"}))


def change_topic(mq: fakemq.Cluster, number: int) -> None:
    mq.topic("orders").set_queues(4 + number)
    mq.clock.advance("1m")


def restart(mq: fakemq.Cluster, number: int) -> None:
    mq.clock.advance("30s")
    mq.broker("broker-a").stop()
    mq.broker("broker-a").restart()
    mq.clock.advance("1m")


def other_member(mq: fakemq.Cluster, number: int) -> None:
    consume(mq, "30s", subscribe=["orders", "keyed"]).close()
    mq.clock.advance("30s")


def make_and_delete(mq: fakemq.Cluster, number: int) -> None:
    mq.create_topic(f"short-{number}", 1)


ACTIONS: list[Callable[[fakemq.Cluster, int], None]] = [
    *(send, send_delayed, send_batch, commit, send_of_one_key),
    *(change_topic, restart, other_member, make_and_delete),
]


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("reference", ["4.9.7", "5.5.0"])
def test_sound_life_has_no_findings(tmp_path: object, reference: str, on_disk: bool) -> None:
    order = random.Random(f"{reference} {on_disk}")
    with fakemq.Cluster(
        clock="frozen",
        topics={"orders": 2, "keyed": 1},
        reference=reference,
        grpc=reference == "5.5.0",
        slaves=1,
        store=str(tmp_path) if on_disk else "memory",
    ) as mq:
        refused = set()

        def sometimes_late(message: Message) -> None:
            if message.body.endswith(b"1") and message.body not in refused:
                refused.add(message.body)
                raise ValueError("once")

        consume(mq, "20s", subscribe=["orders", "keyed"], on_message=sometimes_late)
        actions = ACTIONS * 2
        order.shuffle(actions)
        for number, action in enumerate(actions):
            action(mq, number)
        mq.clock.advance("2m")
        assert mq.diagnosis() == []
        assert mq.diagnosis("orders", GROUP) == []
        assert mq.diagnosis("keyed", GROUP) == []
