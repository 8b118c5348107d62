"""What users of RocketMQ report: one failing assertion names the cause, for each kind of report.

Further kinds have tests of their own: lost commits, stale receipt handles (test_without_effect.py),
two clients with one id (test_twins.py), bodies and tags that clients drop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

import fakemq
from fakemq.client import Client, LocalTransactionState, Message, create_reply_message
from fakemq.client.messages import batch_body
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.headers.offset import ResetOffsetRequestHeader
from fakemq.protocol.headers.topic import DeleteTopicRequestHeader
from fakemq.protocol.sysflag import MessageSysFlag
from tests.support.broker_lab import send_header
from tests.support.grpc_caller import Caller
from tests.support.proxy_lab import message
from tests.support.reports import GROUP, ask, consume

COMMIT, ROLLBACK, UNKNOWN = (
    LocalTransactionState.COMMIT_MESSAGE,
    LocalTransactionState.ROLLBACK_MESSAGE,
    LocalTransactionState.UNKNOW,
)


def refuse(message: object) -> None:
    raise ValueError("no money")


# -- the reports ------------------------------------------------------------------------------


def two_producers(mq: fakemq.Cluster) -> None:
    """The broker asks another producer of the group, which does not know the transaction."""
    for _ in range(2):
        mq.producer(group="shop", check=lambda _: ROLLBACK)
    shop = mq.producer(group="shop", check=lambda _: COMMIT)
    for number in range(3):
        shop.send_in_transaction(Message("orders", f"m{number}".encode()), lambda _: UNKNOWN)
    mq.clock.advance("3m")
    mq.assert_sent("orders", 3)


def members_differ(mq: fakemq.Cluster) -> None:
    for tags in ("a", "b"):
        consume(mq, subscribe={"orders": tags})
    mq.seed("orders", ["one", "two"], tags="a")
    mq.clock.advance("30s")
    mq.assert_consumed("orders", GROUP, count=3)


def more_write_queues(mq: fakemq.Cluster) -> None:
    mq.topic("orders").set_queues(1, 2)
    shop = mq.producer()
    for body in ("one", "two"):
        shop.send("orders", body)
    consume(mq)
    mq.assert_consumed("orders", GROUP)


def topic_made_again(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["a0", "a1", "a2"])
    consume(mq).close()
    ask(mq, RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic="orders"))
    mq.create_topic("orders", 1)
    mq.seed("orders", ["b0", "b1"])
    consume(mq)
    mq.assert_consumed("orders", GROUP)


def topic_deleted_too_early(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["a0"])
    consume(mq).close()
    mq.seed("orders", ["a1"])
    ask(mq, RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic="orders"))
    mq.create_topic("orders", 1)
    mq.assert_consumed("orders", GROUP)


def reset_to_now(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["one", "two"])
    consume(mq)
    mq.seed("orders", ["three"])
    mq.clock.advance("5s")
    to_ms = mq.clock.now_ms()
    header = ResetOffsetRequestHeader(topic="orders", group=GROUP, timestamp=to_ms, is_force=True)
    ask(mq, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
    mq.clock.advance("30s")
    mq.assert_delivered_once("orders", GROUP)


def reset_skips(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["one"])
    consume(mq).close()
    mq.seed("orders", ["two"])
    mq.clock.advance("5s")
    header = ResetOffsetRequestHeader(
        topic="orders", group=GROUP, timestamp=mq.clock.now_ms(), is_force=True
    )
    ask(mq, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
    consume(mq)
    mq.assert_consumed("orders", GROUP)


def orderly_limit(mq: fakemq.Cluster) -> None:
    """A limit of one retry is over after two tries."""
    consume(mq, "0s", ordered=True, max_reconsume_times=1, on_message=refuse)
    mq.seed("orders", ["one"])
    mq.clock.advance("5m")
    mq.assert_consumed("orders", GROUP)


def dead_letter_read(mq: fakemq.Cluster) -> None:
    consume(mq, "0s", on_message=lambda message: message.retry_later(-1))
    mq.seed("orders", ["one"])
    mq.clock.advance("1m")
    repair = consume(
        mq, "5m", group="repair", subscribe="%DLQ%billing", on_message=refuse, max_reconsume_times=2
    )
    assert [one.topic for one in repair.received] == ["%DLQ%billing", "orders"]
    mq.assert_consumed("%DLQ%billing", "repair")


def unacknowledged(mq: fakemq.Cluster) -> None:
    mq.group("g").set(retry_max_times=2)
    worker = Caller(mq, "worker@1")
    worker(lambda client: client.consume("g", "orders"))
    mq.seed("orders", ["one"])
    for _ in range(6):
        worker(lambda client: client.receive("orders", invisible_s=10))
        mq.clock.advance("12s")
    mq.assert_consumed("orders", "g")


def orphan(mq: fakemq.Cluster) -> None:
    """The producer has gone, and another one is asked that does not answer."""
    mq.topic("orders").message_type = "TRANSACTION"
    first, second = Caller(mq, "first"), Caller(mq, "second")
    for one in (first, second):
        one(lambda client: client.produce("orders"))
    half = message(
        "orders",
        id="h1",
        message_type=m.MessageType.TRANSACTION,
        orphaned_transaction_recovery_duration=m.Duration(seconds=20),
    )
    first(lambda client: client.send(half))
    first.client.connection.close("gone")
    mq.clock.advance("1m")
    mq.assert_sent("orders")


def orphan_alone(mq: fakemq.Cluster) -> None:
    with pytest.raises(AssertionError):
        orphan(mq)
    mq.clock.advance("2m")  # the second one is gone, too
    mq.assert_sent("orders")


def batch_with_times(mq: fakemq.Cluster) -> None:
    with Client(mq.namesrv_addr, producer_group="shop") as client:
        client.send_batch([Message("orders", b"one", properties={"TIMER_DELAY_SEC": "5"})])
    mq.assert_consumed("orders", GROUP)


def batch_with_a_time(mq: fakemq.Cluster) -> None:
    """The batch itself has a time."""
    header = send_header("orders", queue_id=0, batch=True, properties="TIMER_DELAY_SEC\x015")
    ask(mq, RequestCode.SEND_BATCH_MESSAGE, header, batch_body([Message("orders", b"one")]))
    mq.clock.advance("1m")
    mq.assert_sent("orders")


def kill_in_order(mq: fakemq.Cluster) -> None:
    """Two consumers of a group in order, and a kill while one of them has a message."""
    mq.group("g").set(consume_message_orderly=True)
    mq.seed("orders", ["one"])
    first, second = Caller(mq, "worker@1"), Caller(mq, "worker@22")
    for one in (first, second):
        one(lambda client: client.consume("g", "orders"))
    assert first(lambda client: client.receive("orders")).received
    mq.broker("broker-a").kill()
    mq.broker("broker-a").restart()
    second(lambda client: client.receive("orders"))
    mq.clock.advance("1s")
    mq.assert_delivered_once("orders", "g")


def groups_in_batches(mq: fakemq.Cluster) -> None:
    mq.topic("orders").set_queues(4)
    mq.topic("orders").message_type = "FIFO"
    fifo = m.MessageType.FIFO
    messages = [
        message("orders", id=one, message_group="o-1", message_type=fifo) for one in ("m1", "m2")
    ]
    shop = Caller(mq, "shop")
    for _ in range(2):
        shop(lambda client: client.send(*messages))
    mq.assert_consumed("orders", "g")


def half_with_a_delay(mq: fakemq.Cluster) -> None:
    send_half(mq, "DELAY", "3")


def half_with_a_time(mq: fakemq.Cluster) -> None:
    send_half(mq, "TIMER_DELAY_SEC", "5")


def send_half(mq: fakemq.Cluster, name: str, value: str) -> None:
    properties = {"UNIQ_KEY": "7F00", "TRAN_MSG": "true", "PGROUP": "shop", name: value}
    text = "\x02".join(f"{one}\x01{other}" for one, other in properties.items())
    sys_flag = MessageSysFlag.TRANSACTION_PREPARED_TYPE
    header = send_header("orders", queue_id=0, properties=text, sys_flag=sys_flag)
    ask(mq, RequestCode.SEND_MESSAGE_V2, header, b"one")
    mq.clock.advance("2m")
    mq.assert_sent("orders")


def lost_answer(mq: fakemq.Cluster) -> None:
    """The client asks again for its attempt, and gets the same message."""
    mq.group("g").set(consume_message_orderly=True)
    mq.seed("orders", ["one"])
    worker = Caller(mq, "worker@1")
    worker(lambda client: client.consume("g", "orders", push=True))
    for _ in range(2):
        worker(lambda client: client.receive("orders", attempt_id="a1", auto_renew=True))
    mq.assert_delivered_once("orders", "g")


def late_retry(mq: fakemq.Cluster) -> None:
    worker = Caller(mq, "worker@1")
    worker(lambda client: client.consume("g", "orders"))
    mq.seed("orders", ["one"])
    worker(lambda client: client.receive("orders", invisible_s=10))
    worker(lambda client: client.receive("orders", invisible_s=10))
    mq.clock.advance("11s")
    mq.assert_consumed("orders", "g")


def forwarded(mq: fakemq.Cluster) -> None:
    """What is sent on has the properties of what was received, its delay too."""
    shop = mq.producer()
    shop.send("orders", b"one", delay_level=1)
    (received,) = consume(mq, "10s").received
    mq.create_topic("later", 1)
    shop.send(Message("later", received.body, properties=dict(received.properties)))
    mq.assert_sent("later")


def requester_gone(mq: fakemq.Cluster) -> None:
    properties = {
        "CORRELATION_ID": "c-1",
        "REPLY_TO_CLIENT": "127.0.0.1@1",
        "CLUSTER": "DefaultCluster",
    }
    mq.seed("orders", ["one"], properties=properties)
    replier = mq.producer(group="replier")
    consume(mq, on_message=lambda one: replier.send(create_reply_message(one, b"two")))
    mq.assert_consumed("orders", GROUP)


def one_key_again(mq: fakemq.Cluster) -> None:
    key = {"UNIQ_KEY": "7F0000010000000000000000000000AA"}
    for body in (b"one", b"two"):
        mq.producer().send(Message("orders", body, properties=key))
    mq.assert_sent("orders", 1)


def one_key_one_way(mq: fakemq.Cluster) -> None:
    key = {"UNIQ_KEY": "7F0000010000000000000000000000AA"}
    for body in (b"one", b"two"):
        mq.producer().send_oneway(Message("orders", body, properties=key))
    mq.wait_for(lambda: len(mq.messages("orders")) == 2)
    mq.assert_sent("orders", 1)


def answer_lost(mq: fakemq.Cluster) -> None:
    mq.faults.close("send", topic="orders", at="before_reply", times=1)
    mq.producer().send("orders", b"one")
    mq.assert_sent("orders", 1)


def committed_twice(mq: fakemq.Cluster) -> None:
    """The local transaction takes longer than a check, which stores the half message again."""
    with Client(mq.namesrv_addr, producer_group="shop") as client:
        half = client.send_half(Message("orders", b"one"))
        mq.clock.advance("2m")
        mq.producer(group="shop", check=lambda _: COMMIT)
        client.end_transaction(half, COMMIT)
    mq.clock.advance("2m")
    mq.assert_sent("orders", 1)


def checks_after_a_commit(mq: fakemq.Cluster) -> None:
    with Client(mq.namesrv_addr, producer_group="shop") as client:
        half = client.send_half(Message("orders", b"one"))
        mq.clock.advance("2m")
        client.end_transaction(half, COMMIT)
    mq.assert_sent("orders", 2)


def first_start(mq: fakemq.Cluster) -> None:
    """A new group that wants the last messages gets all, as long as the first one is there."""
    mq.seed("orders", ["old"])
    mq.clock.advance("1m")
    consume(mq, consume_from="last")
    mq.seed("orders", ["new"])
    mq.clock.advance("1m")
    mq.assert_consumed("orders", GROUP, bodies=["new"])


class Report(NamedTuple):
    """A program that ends with a failing assertion, and the words that name the cause."""

    program: Callable[[fakemq.Cluster], None]
    words: str
    reference: str = "4.9.7"
    grpc: bool = False


REPORTS = {
    "3": Report(
        batch_with_times, "no broker reads TIMER_DELAY_SEC of a message in a batch", "5.5.0"
    ),
    "3, outside": Report(batch_with_a_time, ": it has no TIMER_OUT_MS, for a batch", "5.5.0"),
    "4": Report(committed_twice, ": its transaction was committed twice, by its producer at"),
    "4, before": Report(
        checks_after_a_commit, "a further commit stores the message again (checked"
    ),
    "5": Report(
        kill_in_order,
        "b'one' of orders: popped in order by g, and free again: the kill of broker-a-0 at",
        grpc=True,
    ),
    "10": Report(two_producers, ": a check asks any producer of the group"),
    "11": Report(members_differ, "members of group billing differ about orders"),
    "12": Report(more_write_queues, "queue 1 is not one of the 1 to read"),
    "13": Report(
        topic_made_again,
        "and made again, and group billing kept its offset of before, which is past it",
    ),
    "13, of 5.5.0": Report(
        topic_deleted_too_early,
        "b'a1' of orders: gone: its topic was deleted at",
        reference="5.5.0",
    ),
    "14": Report(reset_to_now, "takes the last message, not the end, so that one message is left"),
    "14, of 5.5.0": Report(reset_skips, ": 1 message skipped", reference="5.5.0"),
    "15": Report(orderly_limit, "b'one' of orders: a dead letter of billing, which gave it up"),
    "16": Report(dead_letter_read, "its retries have the topic orders, to which it was sent first"),
    "17": Report(groups_in_batches, "'o-1' are in 2 queues (broker-a/", grpc=True),
    "18": Report(half_with_a_delay, "b'one' of orders: a half message with a delay level or a"),
    "18, of 5.5.0": Report(half_with_a_time, "a commit does not find it", reference="5.5.0"),
    "19": Report(lost_answer, "popped twice by g (the last time again for attempt a1)", grpc=True),
    "20": Report(late_retry, "its broker has not yet stored it for a retry", grpc=True),
    "21": Report(unacknowledged, "b'one' of orders: a dead letter of g, which", grpc=True),
    "23": Report(forwarded, "; its properties are those of a received message, and so is its"),
    "24": Report(requester_gone, "channel of <127.0.0.1@1> not found. A requester that has gone"),
    "27": Report(orphan, "the last time second, but first has sent it", grpc=True),
    "27, none left": Report(
        orphan_alone, "no gRPC producer of topic orders is connected", grpc=True
    ),
    "28": Report(one_key_again, "stored twice with the id 7F0000010000000000000000000000AA: sev"),
    "30": Report(first_start, "b'old' of orders: stored before billing began, which consumes from"),
    "28, one-way": Report(one_key_one_way, " (one-way), at "),
    "28, answer lost": Report(answer_lost, "a producer sends again what is not answered"),
}


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_failed_assertion_names_the_cause(report: Report) -> None:
    with (
        fakemq.Cluster(
            clock="frozen",
            topics={"orders": 1},
            reference="5.5.0" if report.grpc else report.reference,
            grpc=report.grpc,
        ) as mq,
        pytest.raises(AssertionError) as failed,
    ):
        report.program(mq)
    assert report.words in str(failed.value)
