"""Half messages: their times, and what a restart of the broker does to them."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.transaction import ResumeCheckHalfMessageRequestHeader
from fakemq.protocol.topics import TRANS_HALF_TOPIC
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import TOPIC, beat
from tests.support.transactions import (
    PRODUCERS,
    asked,
    discarded,
    end,
    halves,
    pass_check,
    producer,
    progress,
    send_half,
    stored,
)

HOUR_MS = 3_600_000


# -- age ------------------------------------------------------------------------------------------


def test_age_counts_from_birth_when_the_clock_is_right() -> None:
    lab = BrokerLab(frozen=False)
    broker = lab.broker()
    peer = producer(lab, broker)
    now_ms = lab.clock.now_ms()
    send_half(peer, "ancient", born_timestamp=now_ms - 72 * HOUR_MS)
    send_half(peer, "future", born_timestamp=now_ms + HOUR_MS)
    lab.pass_time(58_000)
    send_half(peer, "born before", born_timestamp=now_ms)
    pass_check(lab)
    assert [message.msg_id for message in discarded(broker)] == ["ancient"]
    checks = asked(peer)
    assert [check.header.msg_id for check in checks] == ["future", "born before"]
    assert checks[0].message.born_timestamp_ms == now_ms + HOUR_MS


@pytest.mark.parametrize("born_ms", [0, 4_102_444_800_000])
def test_age_counts_from_arrival_when_the_clock_was_moved(born_ms: int) -> None:
    lab = BrokerLab(frozen=False)
    broker = lab.broker()
    peer = producer(lab, broker)
    lab.clock.advance("1s")
    lab.pass_time(56_000)
    send_half(peer, born_timestamp=born_ms)
    pass_check(lab)
    assert (asked(peer), discarded(broker)) == ([], [])
    pass_check(lab)
    (check,) = asked(peer)
    assert check.message.born_timestamp_ms == born_ms, "stored bytes stay the producer's"


def test_age_counts_from_arrival_on_a_frozen_clock(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer, born_timestamp=1)
    pass_check(lab)
    assert (len(asked(peer)), discarded(broker)) == (1, [])


def test_message_put_back_keeps_its_first_arrival(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(file_reserved_time=1, transaction_check_max=1000))
    peer = producer(lab, broker)
    send_half(peer)
    lab.pass_time(HOUR_MS)
    assert discarded(broker) == [], "exactly an hour is no more than an hour"
    pass_check(lab)
    (message,) = discarded(broker)
    assert message.properties["TRANSACTION_CHECK_TIMES"] == "61"


def test_resumed_message_has_its_own_age(lab: BrokerLab) -> None:
    """A stored message of another topic, at the queue offset that a half message has too."""
    broker = lab.broker(BrokerConfig(transaction_time_out=50_000))
    peer = producer(lab, broker)
    pass_check(lab)
    send_half(peer, "old", more="CHECK_IMMUNITY_TIME_IN_SECONDS=600")
    pass_check(lab)
    lab.pass_time(30_000)
    (again,) = (half for half in halves(broker) if half.queue_offset == 1)
    peer = lab.peer(broker.addr)  # the one before was silent for too long
    while len(stored(broker)) <= again.queue_offset:
        header = send_header(TOPIC, properties=f"REAL_TOPIC\x01{TOPIC}\x02REAL_QID\x010")
        sent = peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"young")
    resume = ResumeCheckHalfMessageRequestHeader(msg_id=sent.ext_fields["msgId"])
    assert peer.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, resume).code == 0
    young = halves(broker)[-1]
    assert broker.transactions.age_ms(again) == 90_000
    assert broker.transactions.age_ms(young) == 0


# -- what a broker goes through -------------------------------------------------------------------


def test_killed_broker_continues_its_checks(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    ended, undecided = send_half(peer, "A"), send_half(peer, "B")
    end(peer, ended)
    pass_check(lab)
    assert len(asked(peer)) == 1
    before = progress(broker)
    broker.kill()
    lab.pass_time(90_000)
    broker.start()
    assert progress(broker) == before == (2, 1)
    again = producer(lab, broker)
    lab.pass_time(59_999)
    assert asked(again) == []
    lab.pass_time(1)
    (check,) = asked(again)
    assert check.message.properties["TRANSACTION_CHECK_TIMES"] == "2"
    assert check.half != undecided


def test_reset_ends_all_transactions(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer)
    pass_check(lab)
    lab.pass_time(30_000)
    broker.reset()
    asked(peer)
    assert broker.topics.select(TRANS_HALF_TOPIC) is None
    send_half(peer)
    beat(peer, "one", producers=[PRODUCERS])
    lab.pass_time(59_999)
    assert asked(peer) == []
    lab.pass_time(1)
    assert [check.half.offset for check in asked(peer)] == [1]


def test_stopped_broker_has_no_looks_after_a_reset(lab: BrokerLab, broker: Broker) -> None:
    broker.kill()
    broker.reset()
    assert lab.clock.timers() == []


def test_look_missed_while_paused_starts_no_second_timer_after_a_reset(
    lab: BrokerLab, broker: Broker
) -> None:
    broker.pause()
    lab.pass_time(60_000)
    broker.transactions.reset(running=broker.running)
    broker.resume()
    assert sum(timer.kind == "txn_check" for timer in lab.clock.timers()) == 1
    lab.pass_time(180_000)
    assert sum(timer.kind == "txn_check" for timer in lab.clock.timers()) == 1


@pytest.mark.parametrize("more", ["", "CHECK_IMMUNITY_TIME_IN_SECONDS=600"])
def test_full_store_loses_no_half_message(lab: BrokerLab, more: str) -> None:
    broker = lab.broker(memory_limit_bytes=1200)
    peer = producer(lab, broker)
    send_half(peer, body=b"x" * 600, more=more)
    for _ in range(2):
        pass_check(lab)
        assert (asked(peer), progress(broker), len(halves(broker))) == ([], (-1, -1), 1)
