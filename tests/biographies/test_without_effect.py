"""No step without an effect: for each kind of step a run in which all but its effect happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

import fakemq
from fakemq.biographies import steps
from fakemq.biographies.biography import Biography
from fakemq.biographies.recorded import recorded_biographies
from fakemq.client import LocalTransactionState, Message, MessageQueue, SendResult
from fakemq.errors import FakemqError
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.timers import RecallHandle
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.timer import RecallMessageRequestHeader
from tests.support.lites import LITE_KEYS
from tests.support.popper import Popper
from tests.support.pops import GROUP, ack_header, change_header

HALF, TIMERS, DELAYS = "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_wheel_timer", "SCHEDULE_TOPIC_XXXX"


class Run:
    """A cluster of 5.5.0 with a slave, and a client that does everything by hand."""

    def __init__(self, mq: fakemq.Cluster, client: Popper) -> None:
        self.mq, self.client = mq, client

    def lives(self, topic: str = "orders") -> list[Biography]:
        return [message.biography for message in self.mq.messages(topic)]

    def seed(self, tags: str = "") -> None:
        self.mq.seed("orders", ["one"], tags=tags)

    def send(self, **properties: str) -> None:
        self.client.send(Message("orders", b"one", properties=properties))

    def take(self) -> None:
        self.client.pull(self.queue, 0)

    @property
    def queue(self) -> MessageQueue:
        (queue,) = self.client.subscribe_queues("orders")
        return queue

    def commit(self, offset: int) -> None:
        self.client.update_offset(self.queue, offset, oneway=False)

    def send_back(self, offset: int, max_retries: int = 16) -> None:
        header = ConsumerSendMsgBackRequestHeader(
            offset=offset,
            group=GROUP,
            delay_level=0,
            origin_msg_id="",
            origin_topic="orders",
            max_reconsume_times=max_retries,
        )
        command = self.client.instance.command(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        self.client.run(self.client.instance.invoke_ok(self.client.addr, command))

    def half(self) -> SendResult:
        return self.client.send_half(Message("orders", b"half"))

    def end(self, half: SendResult, state: LocalTransactionState) -> None:
        before = len(self.mq.journal.find("TransactionEnded"))
        self.client.end_transaction(half, state)
        self.mq.wait_for(lambda: len(self.mq.journal.find("TransactionEnded")) > before)

    def acknowledge(self, popped: object) -> None:
        header = ack_header(popped, popped.messages[0])  # type: ignore[arg-type, attr-defined]
        self.client.ask(RequestCode5.ACK_MESSAGE, header)

    def change(self, popped: object) -> None:
        header = change_header(popped, popped.messages[0], 20_000)  # type: ignore[arg-type, attr-defined]
        self.client.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, header)

    def recall(self, due_ms: int, msg_id: str) -> None:
        handle = RecallHandle("orders", "broker-a", str(due_ms), msg_id).encode()
        header = RecallMessageRequestHeader(
            producer_group="shop", topic="orders", recall_handle=handle
        )
        self.client.ask(RequestCode5.RECALL_MESSAGE, header)


def refused_send(run: Run) -> Iterable[Biography]:
    run.mq.faults.kill("send", topic="orders", at="before_store")
    with pytest.raises(FakemqError):
        run.send()
    return run.lives()


def nothing_in_its_place(run: Run) -> Iterable[Biography]:
    run.send()
    (message,) = run.mq.messages("orders")
    run.mq.broker("broker-a-0").kill()
    entries = run.mq.journal.entries()
    return recorded_biographies(entries, [message.msg_id])[message.msg_id]


def slave_that_is_down(run: Run) -> Iterable[Biography]:
    run.mq.broker("broker-a-1").kill()
    run.seed()
    return run.lives()


def stored(run: Run) -> Iterable[Biography]:
    run.send()
    return run.lives()


def replicated(run: Run) -> Iterable[Biography]:
    run.seed()
    run.mq.clock.advance("1s")
    return run.lives()


def waiting_delay(run: Run) -> Iterable[Biography]:
    run.send(DELAY="3")
    return run.lives(DELAYS)


def delay_of_level_0(run: Run) -> Iterable[Biography]:
    run.send(DELAY="0")
    return run.lives()


def open_half(run: Run) -> Iterable[Biography]:
    run.half()
    return run.lives(HALF)


def kill_of_pops_without_order(run: Run) -> Iterable[Biography]:
    run.seed()
    run.client.pop()
    run.mq.broker("broker-a").kill()
    run.mq.broker("broker-a").restart()
    return run.lives()


def withheld_answer(run: Run) -> Iterable[Biography]:
    run.seed()
    run.mq.faults.drop("PULL_MESSAGE", at="before_reply")
    with pytest.raises(FakemqError):
        run.client.pull(run.queue, 0, timeout_ms=300)
    return run.lives()


def pop_with_another_filter(run: Run) -> Iterable[Biography]:
    run.seed(tags="paid")
    with pytest.raises(FakemqError, match="NO_MESSAGE"):
        run.client.pop(exp="open", exp_type="TAG")
    return run.lives()


def old_handle(run: Run) -> Iterable[Biography]:
    run.seed()
    popped = run.client.pop()
    run.change(popped)
    run.mq.clock.advance("1ms")
    run.acknowledge(popped)
    return run.lives()


def change_of_an_acknowledged_message(run: Run) -> Iterable[Biography]:
    run.seed()
    popped = run.client.pop()
    run.acknowledge(popped)
    run.change(popped)
    return run.lives()


def acknowledged_in_time(run: Run) -> Iterable[Biography]:
    run.seed()
    run.acknowledge(run.client.pop())
    run.mq.clock.advance("1m")
    return run.lives()


def time_that_has_passed(run: Run) -> Iterable[Biography]:
    run.send(TIMER_DELIVER_MS=str(run.mq.clock.now_ms() - 10_000))
    return run.lives()


def timer(run: Run) -> Iterable[Biography]:
    run.send(TIMER_DELAY_SEC="60")
    return run.lives(TIMERS)[:1]


def recalled_timer(run: Run) -> Iterable[Biography]:
    due_ms = run.mq.clock.now_ms() + 60_000
    run.send(TIMER_DELIVER_MS=str(due_ms))
    (waiting,) = run.mq.messages(TIMERS)
    run.recall(due_ms, waiting.msg_id)
    run.mq.clock.advance("2m")
    assert run.lives() == []
    return [waiting.biography]


def recall_of_another(run: Run) -> Iterable[Biography]:
    due_ms = run.mq.clock.now_ms() + 60_000
    run.send(TIMER_DELIVER_MS=str(due_ms))
    run.recall(due_ms, "7F000001")
    run.mq.clock.advance("2m")
    return run.lives()


def fault_of_another_group(run: Run) -> Iterable[Biography]:
    run.seed()
    run.mq.faults.drop("PULL_MESSAGE", at="before_reply", group="others", must_fire=False)
    run.take()
    return run.lives()


def commit_past_an_unread_message(run: Run) -> Iterable[Biography]:
    run.seed()
    run.commit(1)
    return run.lives()


def commit_past_a_read_message(run: Run) -> Iterable[Biography]:
    run.seed()
    run.take()
    run.commit(1)
    return run.lives()


def commit_of_the_same_offset(run: Run) -> Iterable[Biography]:
    run.seed()
    run.take()
    run.commit(1)
    run.commit(1)
    return run.lives()


def unknown_message_sent_back(run: Run) -> Iterable[Biography]:
    run.seed()
    run.take()
    with pytest.raises(FakemqError):
        run.send_back(999_999)
    return run.lives()


def retry_that_is_left(run: Run) -> Iterable[Biography]:
    run.seed()
    run.take()
    run.send_back(0)
    return run.lives()


def usual_message(run: Run) -> Iterable[Biography]:
    run.send(TRAN_MSG="false")
    return run.lives()


def rolled_back(run: Run) -> Iterable[Biography]:
    run.end(run.half(), LocalTransactionState.ROLLBACK_MESSAGE)
    return run.lives(HALF)


def rollback_of_what_is_committed(run: Run) -> Iterable[Biography]:
    half = run.half()
    run.end(half, LocalTransactionState.COMMIT_MESSAGE)
    run.end(half, LocalTransactionState.ROLLBACK_MESSAGE)
    lives = run.lives()
    assert "rolled back, without effect: it had been committed" in str(lives[0])
    return lives


def message_without_a_lite_topic(run: Run) -> Iterable[Biography]:
    run.mq.seed("sessions", ["one"])
    return run.lives("sessions")


def lite_topic_that_never_ends(run: Run) -> Iterable[Biography]:
    run.mq.seed("sessions", ["one"], properties={"__LITE_TOPIC": "a"})
    run.mq.clock.advance("1h")
    return run.lives("sessions")


RUNS: dict[type[steps.Step], Callable[[Run], Iterable[Biography]]] = {
    steps.Forgotten: stored,
    steps.Stored: refused_send,
    steps.CutOff: nothing_in_its_place,
    steps.Replaced: nothing_in_its_place,
    steps.Replicated: slave_that_is_down,
    steps.NotReplicated: replicated,
    steps.Dispatched: waiting_delay,
    steps.FurtherQueues: message_without_a_lite_topic,
    steps.LiteTopicEnded: lite_topic_that_never_ends,
    steps.Delayed: delay_of_level_0,
    steps.DelayEnded: waiting_delay,
    steps.HandedOver: waiting_delay,
    steps.Discarded: open_half,
    steps.Delivered: withheld_answer,
    steps.Popped: pop_with_another_filter,
    steps.PopAcknowledged: old_handle,
    steps.InvisibleTimeChanged: change_of_an_acknowledged_message,
    steps.Revived: acknowledged_in_time,
    steps.TimerSet: time_that_has_passed,
    steps.TimerRolled: timer,
    steps.TimerEnded: recalled_timer,
    steps.Recalled: recall_of_another,
    steps.Withheld: fault_of_another_group,
    steps.Dropped: commit_past_a_read_message,
    steps.Acknowledged: commit_past_an_unread_message,
    steps.PassedOver: commit_past_a_read_message,
    steps.CommitIgnored: commit_past_a_read_message,
    steps.SetBack: commit_of_the_same_offset,
    steps.OrderLost: kill_of_pops_without_order,
    steps.SentBack: unknown_message_sent_back,
    steps.DeadLettered: retry_that_is_left,
    steps.HalfStored: usual_message,
    steps.Checked: open_half,
    steps.Committed: rolled_back,
    steps.RolledBack: rollback_of_what_is_committed,
}


def kinds_of_steps(kind: type[steps.Step] = steps.Step) -> set[type[steps.Step]]:
    return {one for sub in kind.__subclasses__() for one in (sub, *kinds_of_steps(sub))}


def test_each_kind_of_step_has_a_run_without_its_effect() -> None:
    assert RUNS.keys() == kinds_of_steps()


@pytest.mark.parametrize("kind", RUNS, ids=lambda kind: kind.__name__)
def test_step_is_absent_without_its_effect(kind: type[steps.Step]) -> None:
    with (
        fakemq.Cluster(
            reference="5.5.0",
            clock="frozen",
            slaves=1,
            role="SYNC_MASTER",
            topics={
                "orders": {"queues": 1, "message_type": "NORMAL"},
                "sessions": {"queues": 1, "message_type": "LITE"},
            },
            config={"recallMessageEnable": "true", "enableMixedMessageType": "true"} | LITE_KEYS,
        ) as mq,
        Popper(mq.namesrv_addr, consumer_group=GROUP, producer_group="shop") as client,
    ):
        mq.group(GROUP).set(retry_max_times=16)
        client.addr = mq.broker("broker-a-0").addr
        client.subscribe("orders")
        client.heartbeat()
        lives = list(RUNS[kind](Run(mq, client)))
        assert lives or kind is steps.Stored
        for life in lives:
            for step in life.of(kind):
                assert not getattr(step, "has_effect", not getattr(step, "why_not", "")), str(life)
