"""What a broker of 5.5.0 answers to sends of timer messages, and of messages with a priority."""

from __future__ import annotations

import pytest

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.timers import TIMER_TOPIC, RecallHandle
from fakemq.protocol.topics import TRANS_HALF_TOPIC
from tests.support.time import START_MS
from tests.support.timer_lab import SECOND_MS, TimerLab

TOO_LONG = (
    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or"
    " if set del msg, the delay time should be bigger than the current time"
)


@pytest.fixture
def lab() -> TimerLab:
    return TimerLab()


def test_answer_has_the_unique_key_and_a_handle(lab: TimerLab) -> None:
    answer = lab.send(TIMER_DELIVER_MS=SECOND_MS + 5_500)
    handle = RecallHandle("orders", "broker-a", str(SECOND_MS + 5_001), "K")
    assert answer.ext_fields == {
        "msgId": answer.ext_fields["msgId"],
        "queueId": "0",
        "queueOffset": "0",
        "transactionId": "K",
        "recallHandle": handle.encode(),
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }


def test_message_without_a_unique_key_gets_one(lab: TimerLab) -> None:
    answer = lab.send("", TIMER_DELAY_SEC=1)
    [stored] = lab.messages(TIMER_TOPIC)
    assert stored.properties["UNIQ_KEY"] == answer.ext_fields["transactionId"]
    assert len(answer.ext_fields["transactionId"]) == 32


def test_message_for_a_retry_topic_has_no_handle(lab: TimerLab) -> None:
    answer = lab.send(topic="%RETRY%readers", TIMER_DELAY_SEC=1)
    assert "recallHandle" not in answer.ext_fields
    lab.pass_time(3_000)
    assert lab.keys("%RETRY%readers") == ["K"]


@pytest.mark.parametrize(
    "wish",
    [
        {"TIMER_DELAY_SEC": "259201"},
        {"TIMER_DELAY_MS": "259200001"},
        {"TIMER_DELIVER_MS": str(START_MS + 259_200_001)},
        {"TIMER_DELAY_SEC": "x"},
        {"TIMER_DELIVER_MS": "5", "TIMER_DEL_UNIQKEY": "K"},
    ],
)
def test_illegal_timer_is_refused(lab: TimerLab, wish: dict[str, str]) -> None:
    answer = lab.send("K", wish)
    assert (answer.code, answer.remark) == (13, TOO_LONG)
    assert answer.ext_fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
    assert lab.messages() == lab.messages(TIMER_TOPIC) == []


def test_longest_delay_is_taken(lab: TimerLab) -> None:
    assert lab.send(TIMER_DELAY_SEC=259_200).code == 0


def test_full_slot_refuses_messages() -> None:
    lab = TimerLab(timer_congest_num_each_slot=3)
    answers = [lab.send(TIMER_DELIVER_MS=SECOND_MS + 5_000) for _ in range(40)]
    refused = [answer for answer in answers if answer.code]
    assert 4 <= 40 - len(refused) <= 6, "from 4 on chance decides, from 6 on none is taken"
    assert refused[0].code == 1
    assert refused[0].remark == (
        "timer message is under flow control, max num limit is 6 or the current value is greater"
        " than 3 and less than 6, trigger random flow control"
    )
    assert lab.send(TIMER_DELIVER_MS=SECOND_MS + 6_000).code == 0


def test_broker_without_timers_refuses_them() -> None:
    lab = TimerLab(timer_wheel_enable=False)
    answer = lab.send(TIMER_DELAY_SEC=1)
    assert (answer.code, answer.remark) == (
        1,
        "accurate timer message is not enabled, timerWheelEnable is false",
    )
    assert lab.send().code == 0
    assert (lab.client.ask(60).remark, lab.client.ask(61).remark) == (
        "The checkpoint is null",
        "The timer message store is null",
    )


def test_half_message_with_a_timer_loses_its_topic(lab: TimerLab) -> None:
    # As in Java: the half message itself waits, and comes back to the half topic.
    answer = lab.send(TRAN_MSG="true", PGROUP="producers", TIMER_DELAY_SEC=1)
    [waiting] = lab.messages(TIMER_TOPIC)
    assert waiting.properties["REAL_TOPIC"] == TRANS_HALF_TOPIC
    assert waiting.properties["__transactionId__"] == "K"
    assert RecallHandle.decode(answer.ext_fields["recallHandle"]).topic == TRANS_HALF_TOPIC
    lab.pass_time(3_000)
    assert lab.keys(TRANS_HALF_TOPIC) == ["K"]
    assert lab.messages() == []


def test_half_message_is_committed(lab: TimerLab) -> None:
    answer = lab.send(TRAN_MSG="true", PGROUP="producers")
    half = lab.messages(TRANS_HALF_TOPIC)[0]
    assert half.properties["__transactionId__"] == "K"
    assert answer.ext_fields["queueOffset"] == "0"
    ended = lab.client.ask(
        RequestCode.END_TRANSACTION,
        ext_fields={
            "producerGroup": "producers",
            "tranStateTableOffset": "0",
            "commitLogOffset": str(half.commit_log_offset),
            "commitOrRollback": "8",
            "fromTransactionCheck": "false",
            "msgId": "K",
        },
    )
    assert ended.code == 0
    assert lab.keys() == ["K"]


@pytest.mark.parametrize(
    ("priority", "queue_id"), [("0", 0), ("2", 2), ("3", 3), ("9", 3), ("-1", 1), ("x", 1)]
)
def test_priority_is_the_queue(lab: TimerLab, priority: str, queue_id: int) -> None:
    answer = lab.send(queue_id=1, _SYS_MSG_PRIORITY_=priority)
    assert answer.ext_fields["queueId"] == str(queue_id)
    [stored] = lab.messages(queue_id=queue_id)
    assert stored.properties["_SYS_MSG_PRIORITY_"] == priority


@pytest.mark.parametrize("other", ["DELAY", "__SHARDINGKEY"])
def test_message_of_another_type_has_no_priority(lab: TimerLab, other: str) -> None:
    answer = lab.send("K", {other: "0"}, queue_id=1, _SYS_MSG_PRIORITY_=3)
    assert answer.ext_fields["queueId"] == "1"
    assert "_SYS_MSG_PRIORITY_" not in lab.messages(queue_id=1)[0].properties
