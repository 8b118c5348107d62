"""Sends to a retry topic, by which clients send back what they otherwise cannot."""

from __future__ import annotations

import time

import pytest

from fakemq.events import DeadLettered, LogAppended
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.delays import SCHEDULE, Delays

RETRY, DLQ = "%RETRY%g", "%DLQ%g"


@pytest.fixture
def delays(lab: BrokerLab) -> Delays:
    return Delays(lab)


def test_retry_sent_as_a_message_waits_for_its_level(delays: Delays) -> None:
    delays.send(2, topic=RETRY)
    delays.pass_ms(1_999)
    assert delays.stored(RETRY) == []
    delays.pass_ms(1)
    assert len(delays.stored(RETRY)) == 1


def test_dead_letter_sent_as_a_message_waits_too(lab: BrokerLab, delays: Delays) -> None:
    """In Java its level is cleared, and comes back with the properties."""
    properties = "DELAY\x0119\x02ORIGIN_MESSAGE_ID\x01origin\x02UNIQ_KEY\x01id"
    header = send_header(RETRY, reconsume_times=16, properties=properties)
    response = delays.peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"x")
    assert response.code == ResponseCode.SUCCESS
    assert delays.stored(DLQ) == []
    delays.pass_ms(3_000)
    (dead,) = delays.stored(DLQ)
    assert (dead.reconsume_times, dead.properties["REAL_TOPIC"]) == (16, DLQ)
    waiting, _ = lab.journal.find(LogAppended, msg_id="id")
    assert waiting.topic == SCHEDULE
    assert lab.journal.find(DeadLettered) == [
        DeadLettered(
            node="broker-a-0",
            group="g",
            reconsume_times=16,
            from_phy_offset=None,
            phy_offset=waiting.phy_offset,
            origin_msg_id="origin",
            msg_id="id",
        )
    ]


def test_message_sent_to_a_dlq_by_name_is_no_dead_letter(lab: BrokerLab, delays: Delays) -> None:
    delays.send(0, topic=DLQ)
    assert len(delays.stored(DLQ)) == 1
    assert lab.journal.find(DeadLettered) == []


def test_sixteen_retries_lead_to_the_dlq(lab: BrokerLab) -> None:
    """4 h 45 min of waiting, in virtual time; each retry finds what the one before it left."""
    delays = Delays(lab, "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h")
    delays.send(0)
    began_s = time.process_time()
    offset = 0
    waited_ms = []
    while not delays.stored(DLQ):
        header = ConsumerSendMsgBackRequestHeader(offset=offset, group="g", delay_level=0)
        peer = lab.peer(delays.broker.addr)  # the first one was idle for too long
        assert peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header).code == 0
        if timers := delays.timers():
            waited_ms.append(timers[0][1])
            delays.pass_ms(waited_ms[-1])
            offset = delays.stored(RETRY)[-1].commit_log_offset
    assert time.process_time() - began_s < 0.1
    assert len(delays.stored(RETRY)) == 16
    assert sum(waited_ms) == 17_140_000
    (dead,) = delays.stored(DLQ)
    assert (dead.reconsume_times, dead.properties["RETRY_TOPIC"]) == (17, "orders")
