"""RECALL_MESSAGE: a recalled message is not delivered, and what is refused."""

from __future__ import annotations

import pytest

from fakemq.events import TimerDelivered, TimerDiscarded, TimerRecalled
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.timers import TIMER_TOPIC, RecallHandle
from tests.support.time import START_MS
from tests.support.timer_lab import SECOND_MS, TimerLab

DAY_MS = 24 * 3_600_000


@pytest.fixture
def lab() -> TimerLab:
    return TimerLab()


def handle(
    topic: str = "orders", broker: str = "broker-a", at: object = SECOND_MS + 5_001, key: str = "K"
) -> str:
    return RecallHandle(topic, broker, str(at), key).encode()


def said(answer: RemotingCommand) -> tuple[int, str | None]:
    return answer.code, answer.remark


def test_recalled_message_is_not_delivered(lab: TimerLab) -> None:
    sent = [lab.send(f"K{number}", TIMER_DELIVER_MS=SECOND_MS + 5_000) for number in range(3)]
    answer = lab.recall(sent[1].ext_fields["recallHandle"])
    assert said(answer) == (0, "not set any response code")
    assert answer.ext_fields == {"msgId": "K1", "MSG_REGION": "DefaultRegion"}
    lab.pass_time(10_000)
    assert lab.keys() == ["K0", "K2"]
    assert [event.msg_id for event in lab.journal.find(TimerRecalled)] == ["K1"]
    assert lab.node.timers.metrics.count("orders") == 0


def test_deletion_is_a_timer_message_of_the_same_second(lab: TimerLab) -> None:
    lab.send(TIMER_DELIVER_MS=SECOND_MS + 5_000)
    lab.recall(handle(at=SECOND_MS + 4_001))
    message = lab.messages(TIMER_TOPIC)[1]
    assert (message.body, message.topic) == (b"0", TIMER_TOPIC)
    assert message.properties == {
        "TIMER_DEL_UNIQKEY": "K",
        "UNIQ_KEY": "K",
        "TAGS": "_RECALL_TAG_",
        "PGROUP": "producers",
        "BORN_TIMESTAMP": str(START_MS),
        "TIMER_DELIVER_MS": str(SECOND_MS + 4_001),
        "TIMER_OUT_MS": str(SECOND_MS + 4_000),
        "REAL_TOPIC": "orders",
        "REAL_QID": "0",
    }


def test_recall_of_an_unknown_message_has_no_effect(lab: TimerLab) -> None:
    lab.send(TIMER_DELIVER_MS=SECOND_MS + 5_500)
    assert lab.recall(handle(key="other")).code == 0
    lab.pass_time(10_000)
    assert lab.keys() == ["K"]


def test_recall_finds_a_message_that_rolls(lab: TimerLab) -> None:
    recall_handle = lab.send(TIMER_DELAY_MS=3 * DAY_MS).ext_fields["recallHandle"]
    assert lab.recall(recall_handle).code == 0
    lab.pass_time(3 * DAY_MS + 2_000)
    assert lab.messages() == []
    assert [event.msg_id for event in lab.journal.find(TimerRecalled)] == ["K"]
    assert not lab.journal.find(TimerDelivered)
    assert not lab.journal.find(TimerDiscarded)


def test_recall_names_the_topic_if_the_config_says_so() -> None:
    lab = TimerLab(append_topic_for_timer_delete_key=True)
    recall_handle = lab.send(TIMER_DELAY_SEC=3).ext_fields["recallHandle"]
    lab.recall(recall_handle)
    assert lab.messages(TIMER_TOPIC)[1].properties["TIMER_DEL_UNIQKEY"] == "orders+K"
    lab.pass_time(5_000)
    assert lab.messages() == []


@pytest.mark.parametrize(
    ("recall_handle", "code", "remark"),
    [
        (None, 604, "recall handle is invalid"),
        ("", 604, "recall handle is invalid"),
        ("xx", 604, "recall handle is invalid"),
        (handle("others"), 604, "recall failed, topic not match"),
        (handle(broker="broker-z"), 604, "recall failed, broker service not available"),
        (handle(at=START_MS), 604, "recall failed, timestamp invalid"),
        (handle(at="x"), 604, "recall failed, timestamp invalid"),
        (handle(at=START_MS + 3 * DAY_MS), 604, "recall failed, timestamp invalid"),
        (handle(at=START_MS + 3 * DAY_MS - 1), 0, "not set any response code"),
    ],
)
def test_handle_is_checked(
    lab: TimerLab, recall_handle: str | None, code: int, remark: str
) -> None:
    assert said(lab.recall(recall_handle)) == (code, remark)


def test_topic_must_be_named(lab: TimerLab) -> None:
    answer = lab.client.ask(370, ext_fields={"recallHandle": handle()})
    assert answer.code == 1
    assert answer.remark is not None
    assert answer.remark.startswith("java.lang.NullPointerException")


def test_broker_that_is_not_writeable_recalls_if_the_config_says_so(lab: TimerLab) -> None:
    lab.config.broker_permission = 4
    assert lab.recall(handle()).code == 0
    lab.config.allow_recall_when_broker_not_writeable = False
    assert said(lab.recall(handle())) == (14, "recall failed, broker service not available")


def test_broker_that_does_not_serve_yet_recalls_nothing(lab: TimerLab) -> None:
    lab.config.start_accept_send_request_time_stamp = START_MS + 1
    assert said(lab.recall(handle())) == (14, "recall failed, broker service not available")


def test_recall_at_a_slave_is_refused(lab: TimerLab) -> None:
    lab.node.store.role.take("SLAVE")
    assert said(lab.recall(handle())) == (11, "recall failed, broker service not available")


def test_refused_put_is_an_error(lab: TimerLab) -> None:
    lab.config.timer_congest_num_each_slot = 0
    lab.send(TIMER_DELIVER_MS=SECOND_MS + 5_500)
    assert said(lab.recall(handle())) == (1, "recall failed, execute error")
