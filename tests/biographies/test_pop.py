"""POP and timers in the laboratory's terms: what is out, biographies, reasons, and the clock."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import fakemq
from fakemq.biographies import steps
from fakemq.biographies.biographer import Biographer
from fakemq.biographies.diagnosis import diagnosis
from fakemq.client import Message
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.timers import RecallHandle
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.timer import RecallMessageRequestHeader
from tests.support.consumer import normalised
from tests.support.form import pure_only
from tests.support.long_reads import most_reads_of_a_step, result_of_slices
from tests.support.popper import Popper
from tests.support.pops import (
    GROUP,
    ack_header,
    change_header,
)

START = "2024-02-29T12:00:00Z"
RETRY = f"%RETRY%{GROUP}_orders"
HOUR_MS = 3_600_000


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        reference="5.5.0",
        clock="frozen",
        start_at=START,
        topics={"orders": 1},
        config={"recallMessageEnable": "true"},
    ) as cluster:
        cluster.group(GROUP).set(retry_max_times=16)
        yield cluster


@pytest.fixture
def client(mq: fakemq.Cluster) -> Iterator[Popper]:
    with Popper(mq.namesrv_addr, consumer_group=GROUP, producer_group="shop") as popper:
        popper.addr = mq.broker("broker-a").addr
        yield popper


def lines(mq: fakemq.Cluster, topic: str = "orders") -> list[str]:
    (message,) = mq.messages(topic)
    text = re.sub(r"workers@ADDR", "workers", normalised(str(message.biography)))
    return [line.strip() for line in text.splitlines()][1:]


def test_biography_follows_a_message_through_pops(mq: fakemq.Cluster, client: Popper) -> None:
    mq.seed("orders", ["hello"])
    popped = client.pop()
    (message,) = popped.messages
    client.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, change_header(popped, message, 20_000))
    mq.clock.advance_to_next("pop_revive")
    again = client.pop()
    (retry,) = again.messages
    client.ask(RequestCode5.ACK_MESSAGE, ack_header(again, retry))
    client.ask(RequestCode5.ACK_MESSAGE, ack_header(popped, message))
    shown = [line for line in lines(mq) if "clock" not in line or "revived" in line]
    expected = [
        "12:00:00.000 stored in orders broker-a-0/0@0",
        "12:00:00.000 dispatched at broker-a-0",
        "12:00:00.000 popped 1st time by workers, invisible until 12:00:10.000",
        "12:00:00.000 invisible time changed by workers: until 12:00:20.001",
    ]
    assert shown[:4] == expected
    text = "\n".join(lines(mq))
    assert f"revived for workers, attempt 2, in {RETRY} broker-a-0@0" in text
    assert "popped 2nd time by workers, invisible until" in text
    assert "acknowledged by workers too late: it had been revived" in text
    assert "offset 1 committed" not in text  # a pop commits, which is no acknowledgement
    assert lines(mq, RETRY) == lines(mq)
    mq.assert_consumed("orders", GROUP)


def test_inflight_names_what_is_out(mq: fakemq.Cluster, client: Popper) -> None:
    (stored,) = mq.seed("orders", ["hello"])
    group = mq.group(GROUP)
    assert group.inflight() == []
    popped = client.pop(attempt_id="one")
    (out,) = group.inflight()
    assert (out.topic, out.queue_id, out.offset) == ("orders", 0, 0)
    assert (out.msg_id, out.attempt, out.in_order) == (stored.msg_id, 1, False)
    assert out.visible_at_ms == mq.clock.now_ms() + 10_000
    assert out.peer
    assert out.attempt_id == "one"
    assert mq.group("others").inflight() == []
    with pytest.raises(LookupError, match=f"did you mean {GROUP}"):
        mq.group(GROUP[:-2] + GROUP[-1] + GROUP[-2]).inflight()
    mq.clock.advance("13s")
    assert group.inflight() == []
    again = client.pop()
    (out,) = group.inflight()
    assert (out.topic, out.attempt) == (RETRY, 2)
    client.ask(RequestCode5.ACK_MESSAGE, ack_header(again, again.messages[0]))
    assert group.inflight() == []
    assert popped.bodies == again.bodies


def test_queue_in_order_waits_for_the_message_that_is_out(
    mq: fakemq.Cluster, client: Popper
) -> None:
    mq.seed("orders", ["a", "b"])
    client.pop(order=True, queue_id=0, max_msg_nums=1)
    waits = (
        f"b'b' of orders: never delivered: group {GROUP} consumes its queue in order, and offset 0"
        " is not acknowledged and invisible until 12:00:10.000"
    )
    assert waits in mq.diagnosis("orders", GROUP)
    mq.clock.advance("10s")
    assert not any("consumes its queue in order" in line for line in mq.diagnosis("orders", GROUP))


def test_inflight_has_what_is_out_in_order(mq: fakemq.Cluster, client: Popper) -> None:
    mq.seed("orders", ["a", "b"])
    popped = client.pop(order=True, queue_id=0)
    assert [(out.offset, out.attempt, out.in_order) for out in mq.group(GROUP).inflight()] == [
        (0, 1, True),
        (1, 1, True),
    ]
    client.ask(RequestCode5.ACK_MESSAGE, ack_header(popped, popped.messages[0]))
    mq.clock.advance_to_next("invisible")
    client.pop(order=True, queue_id=0)
    (out,) = mq.group(GROUP).inflight()
    assert (out.offset, out.attempt) == (1, 2)


def test_failed_assertion_says_that_a_message_is_popped(mq: fakemq.Cluster, client: Popper) -> None:
    mq.seed("orders", ["hello"], keys="order-1")
    client.pop()
    with pytest.raises(AssertionError) as failed:
        mq.assert_consumed("orders", GROUP)
    assert "popped once by workers, invisible until 12:00:10.000, held by" in str(failed.value)
    mq.clock.advance("13s")
    text = "\n".join(mq.diagnosis("orders", GROUP))
    assert "revived, waits as attempt 2 for the next pop of workers" in text
    popped = client.pop()
    assert "popped twice by workers" in "\n".join(mq.diagnosis("orders", GROUP))
    client.ask(RequestCode5.ACK_MESSAGE, ack_header(popped, popped.messages[0]))
    assert mq.diagnosis("orders", GROUP) == []
    assert not any("rmq_sys" in line for line in mq.diagnosis())


@pytest.mark.parametrize("invisible_ms", [10_000, 60_000, HOUR_MS, 12 * HOUR_MS])
def test_message_comes_again_with_one_advance_and_never_early(
    mq: fakemq.Cluster, client: Popper, invisible_ms: int
) -> None:
    mq.seed("orders", ["hello"])
    client.pop(invisible_time=invisible_ms)
    until_ms = mq.clock.now_ms() + invisible_ms
    mq.clock.advance((invisible_ms + 2_000) / 1000)
    assert mq.messages(RETRY) == []
    mq.clock.advance(0.001)
    assert mq.clock.now_ms() == until_ms + 2_001  # the lag of a revive
    assert client.pop().bodies == [b"hello"]


def test_timer_of_three_days_comes_with_one_advance(mq: fakemq.Cluster, client: Popper) -> None:
    due_ms = mq.clock.now_ms() + 3 * 24 * HOUR_MS - 1000
    client.send(
        Message("orders", b"later", keys="late", properties={"TIMER_DELIVER_MS": str(due_ms)})
    )
    assert "waits in the timer wheel until" in "\n".join(mq.diagnosis("orders"))
    mq.clock.advance("71h")
    assert mq.messages("orders") == []
    mq.clock.advance("1h")
    text = "\n".join(lines(mq))
    assert "timer for orders until 11:59:59.000" in text
    assert "timer rolled 1st time" in text
    assert "timer over, delivered to orders broker-a-0/0@0" in text


def test_recalled_message_says_so(mq: fakemq.Cluster, client: Popper) -> None:
    with pytest.raises(ValueError, match="NORMAL"):
        mq.topic("orders").message_type = "NORMALLY"
    assert mq.topic("orders").message_type == "NORMAL"
    mq.topic("orders").message_type = "DELAY"
    assert mq.topic("orders").message_type == "DELAY"
    due_ms = mq.clock.now_ms() + 60_000
    client.send(Message("orders", b"later", properties={"TIMER_DELIVER_MS": str(due_ms)}))
    (waiting,) = mq.messages("rmq_sys_wheel_timer")
    handle = RecallHandle("orders", "broker-a", str(due_ms), waiting.msg_id).encode()
    header = RecallMessageRequestHeader(producer_group="shop", topic="orders", recall_handle=handle)
    client.ask(RequestCode5.RECALL_MESSAGE, header)
    assert "recalled: it will not be delivered" in "\n".join(mq.diagnosis("orders"))
    mq.clock.advance("2m")
    assert waiting.biography.of(steps.Recalled)
    assert mq.messages("orders") == []


def test_older_reference_has_no_message_types() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as old:
        assert old.topic("orders").message_type == "NORMAL"
        with pytest.raises(ValueError, match="only those of RocketMQ 5 do"):
            old.topic("orders").message_type = "FIFO"
        assert old.group(GROUP).inflight() == []


@pure_only
def test_diagnosis_reads_one_timer_or_popped_message_a_step(
    mq: fakemq.Cluster, client: Popper
) -> None:
    mq.seed("orders", ["out"] * 9)
    client.pop()
    for _ in range(9):
        client.send(Message("orders", b"later", properties={"TIMER_DELAY_SEC": "30"}))
    mq.clock.advance("2s")
    assert len(mq.group(GROUP).inflight()) == 9

    def reads(core: ClusterCore) -> int:
        chronicle = Biographer(core, lambda call: call()).chronicle()
        return most_reads_of_a_step(core, diagnosis(core, chronicle, "orders"))

    assert mq.inspect(reads) <= 2
    assert len(mq.diagnosis("orders")) == 2


def test_many_messages_that_are_out_are_listed_in_slices(
    mq: fakemq.Cluster, client: Popper
) -> None:
    mq.seed("orders", ["out"] * 6_400)
    for _ in range(200):
        client.pop()
    assert len(result_of_slices(mq, mq.group(GROUP).inflight)) == 6_400
