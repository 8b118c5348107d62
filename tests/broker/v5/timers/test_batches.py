"""Batches of 5.5.0 with a time of their own."""

from __future__ import annotations

import pytest

from fakemq.broker.sending.send import BATCH_AT_ONCE_BYTES
from fakemq.events import TimerDiscarded
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.timers import TIMER_TOPIC
from tests.support.broker_lab import send_header
from tests.support.time import START_MS
from tests.support.timer_lab import TimerLab

SMALL = [b"one", b"two"]
LARGE = [bytes(1000)] * (BATCH_AT_ONCE_BYTES // 1000 + 1)
WISHES = [
    {"TIMER_DELAY_SEC": "2"},
    {"TIMER_DELAY_MS": "2000"},
    {"TIMER_DELIVER_MS": str(START_MS + 2_000)},
]


@pytest.fixture
def lab() -> TimerLab:
    return TimerLab()


def send_batch(
    lab: TimerLab, bodies: list[bytes], *, inner: str = "", **properties: str
) -> RemotingCommand:
    members = [
        BatchMember(body, f"UNIQ_KEY\x01{number}\x02{inner}".encode())
        for number, body in enumerate(bodies)
    ]
    text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
    header = send_header("orders", properties=text, batch=True)
    return lab.client.ask(RequestCode.SEND_BATCH_MESSAGE, header, encode_batch(members))


@pytest.mark.parametrize("bodies", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("wish", WISHES, ids=str)
def test_batch_with_a_time_is_never_delivered_and_other_timers_are(
    lab: TimerLab, wish: dict[str, str], bodies: list[bytes]
) -> None:
    assert send_batch(lab, bodies, **wish).code == ResponseCode.SUCCESS
    assert lab.messages() == []
    assert len(lab.messages(TIMER_TOPIC)) == len(bodies)
    assert len(lab.journal.find(TimerDiscarded)) == len(bodies)
    lab.send("later", TIMER_DELAY_SEC=1)
    lab.pass_time(10_000)
    assert lab.keys() == ["later"]


@pytest.mark.parametrize("wish", [{"TIMER_DELAY_SEC": "0"}, {"TIMER_DELIVER_MS": "5"}], ids=str)
def test_batch_whose_time_is_over_is_stored_at_once(lab: TimerLab, wish: dict[str, str]) -> None:
    assert send_batch(lab, SMALL, **wish).code == ResponseCode.SUCCESS
    assert lab.keys() == ["0", "1"]


@pytest.mark.parametrize("bodies", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"TIMER_DELAY_SEC": "x"}, ResponseCode.MESSAGE_ILLEGAL),
        ({"TIMER_DELAY_SEC": "259201"}, ResponseCode.MESSAGE_ILLEGAL),
        ({"TIMER_DELAY_SEC": "2", "DELAY": "1"}, ResponseCode.MESSAGE_ILLEGAL),
    ],
)
def test_batch_with_a_wrong_time_is_refused(
    lab: TimerLab, wish: dict[str, str], code: ResponseCode, bodies: list[bytes]
) -> None:
    assert send_batch(lab, bodies, **wish).code == code
    assert (lab.messages(), lab.messages(TIMER_TOPIC)) == ([], [])


def test_batch_with_a_time_is_refused_without_a_wheel() -> None:
    lab = TimerLab(timer_wheel_enable=False)
    assert send_batch(lab, SMALL, TIMER_DELAY_SEC="2").code == ResponseCode.SYSTEM_ERROR
    assert lab.messages() == []


def test_times_of_members_say_nothing(lab: TimerLab) -> None:
    assert send_batch(lab, SMALL, inner="TIMER_DELAY_SEC\x012\x02").code == ResponseCode.SUCCESS
    assert lab.keys() == ["0", "1"]
