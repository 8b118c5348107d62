"""Ends of transactions at a broker of 5.5.0: collected into ops, and refused when they are late."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.broker import Broker
from fakemq.broker.v5.transactions import Ended
from fakemq.config.v5.model import BrokerConfig5
from fakemq.events import TransactionEnded
from fakemq.protocol.topics import TRANS_OP_HALF_TOPIC
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer
from tests.support.transactions import (
    ROLLBACK,
    asked,
    end,
    halves,
    pass_check,
    producer,
    progress,
    put,
    send_half,
    stored,
)

INTERVAL_MS = 3_000
SLEEP_MS = REFERENCE.check_sleep_ms


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    return lab.broker(reference=REFERENCE)


def ops(broker: Broker) -> list[bytes]:
    return [op.body for op in stored(broker, TRANS_OP_HALF_TOPIC)]


def op_timers(lab: BrokerLab) -> int:
    return sum(timer.kind == "transaction_ops" for timer in lab.clock.timers())


# -- when ops are stored ------------------------------------------------------------------------


def test_first_op_is_stored_an_interval_after_the_first_end(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    first, second = send_half(peer, "A"), send_half(peer, "B")
    end(peer, first)
    lab.pass_time(1_000)
    end(peer, second, ROLLBACK)
    lab.pass_time(INTERVAL_MS - 1_001)
    assert (ops(broker), len(stored(broker))) == ([], 1), "the message itself does not wait"
    assert len(broker.journal.find(TransactionEnded)) == 2
    lab.pass_time(1)
    assert ops(broker) == [b"0,1,"]
    assert op_timers(lab) == 0


def test_op_is_stored_at_once_if_the_one_before_is_old(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    places = [send_half(peer, key) for key in "ABC"]
    end(peer, places[0])
    lab.pass_time(2 * INTERVAL_MS)
    end(peer, places[1])
    assert ops(broker) == [b"0,", b"1,"]
    lab.pass_time(1)
    end(peer, places[2])
    lab.pass_time(INTERVAL_MS - 2)
    assert len(ops(broker)) == 2
    lab.pass_time(1)
    assert ops(broker)[2:] == [b"2,"]


def test_ends_that_are_too_long_for_one_op_are_stored_at_once(lab: BrokerLab) -> None:
    config = BrokerConfig5(transaction_op_msg_max_size=6)
    broker = lab.broker(config, reference=REFERENCE)
    peer = lab.peer(broker.addr)
    for place in [send_half(peer) for _ in range(4)]:
        end(peer, place, ROLLBACK)
    assert ops(broker) == [b"0,1,2,"]
    lab.pass_time(INTERVAL_MS)
    assert ops(broker)[1:] == [b"3,"]


def test_interval_of_0_stores_an_op_for_each_end(lab: BrokerLab) -> None:
    config = BrokerConfig5(transaction_op_batch_interval=0)
    broker = lab.broker(config, reference=REFERENCE)
    peer = lab.peer(broker.addr)
    for place in [send_half(peer) for _ in range(3)]:
        end(peer, place, ROLLBACK)
    assert ops(broker) == [b"0,", b"1,", b"2,"]


@pytest.mark.parametrize("size", [0, -1])
def test_op_without_room_for_any_offset_is_never_stored(lab: BrokerLab, size: int) -> None:
    config = BrokerConfig5(transaction_op_msg_max_size=size)
    broker = lab.broker(config, reference=REFERENCE)
    peer = lab.peer(broker.addr)
    end(peer, send_half(peer), ROLLBACK)
    assert op_timers(lab) == 0, "a timer that stores nothing would fire for ever"
    lab.pass_time(3 * INTERVAL_MS)
    assert ops(broker) == []


@pytest.mark.parametrize(
    ("size", "stored_ops"),
    [(0, [b"2,", b"3,"]), (4, [b"2,0,"]), (4_096, [b"2,0,1,"])],
)
def test_end_that_finds_no_place_among_the_collected_ones_is_stored_at_once(
    lab: BrokerLab, monkeypatch: pytest.MonkeyPatch, size: int, stored_ops: list[bytes]
) -> None:
    monkeypatch.setattr("fakemq.broker.v5.transactions._MOST_COLLECTED", 2)
    broker = lab.broker(BrokerConfig5(transaction_op_msg_max_size=size), reference=REFERENCE)
    peer = lab.peer(broker.addr)
    for place in [send_half(peer) for _ in range(4)]:
        end(peer, place, ROLLBACK)
    assert ops(broker) == stored_ops


@given(
    offsets=st.lists(st.integers(0, 10**6), max_size=40),
    max_size=st.integers(1, 50),
)
def test_every_collected_end_is_in_one_op(offsets: list[int], max_size: int) -> None:
    ended = Ended(0)
    for offset in offsets:
        ended.add(offset)
    texts = []
    while text := ended.take(max_size):
        texts.append(text)
        assert len(text) < max_size + len("1000000,")
    assert "".join(texts) == "".join(f"{offset}," for offset in offsets)
    assert ended.size == 0


# -- what is not stored -------------------------------------------------------------------------


def test_collected_ends_are_lost_with_the_broker(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    end(peer, send_half(peer), ROLLBACK)
    broker.stop()
    lab.pass_time(100)
    broker.start()
    lab.pass_time(2 * INTERVAL_MS)
    assert ops(broker) == []
    peer = producer(lab, broker, "two")
    pass_check(lab)
    assert [check.header.msg_id for check in asked(peer)] == ["K"], "asked again"


def test_image_of_a_broker_has_the_collected_ends(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    end(peer, send_half(peer), ROLLBACK)
    broker.settle()
    assert ops(broker) == [b"0,"]
    lab.pass_time(2 * INTERVAL_MS)
    assert ops(broker) == [b"0,"]


def test_end_of_a_message_of_another_topic_has_no_op(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    half = send_half(peer)
    end(peer, half)
    lab.pass_time(INTERVAL_MS)
    (message,) = stored(broker)
    committed = half._replace(offset=0, commit_log_offset=message.commit_log_offset)
    assert end(peer, committed, ROLLBACK).code == 0
    lab.pass_time(INTERVAL_MS)
    assert ops(broker) == [b"0,"]


# -- what checks make of them -------------------------------------------------------------------


def test_op_of_many_is_done_when_all_of_them_were_met(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    for place in [send_half(peer, f"K{number}") for number in range(80)]:
        end(peer, place, ROLLBACK)
    pass_check(lab)
    assert asked(peer) == []
    assert progress(broker) == (80, 1)


def test_op_stays_while_one_of_its_half_messages_is_ahead(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    first, open_one, last = (send_half(peer, key) for key in "ABC")
    end(peer, first, ROLLBACK)
    end(peer, last, ROLLBACK)
    lab.pass_time(1)
    pass_check(lab)
    lab.pass_time(SLEEP_MS)
    assert [check.header.msg_id for check in asked(peer)] == ["B"]
    assert progress(broker) == (3, 1), "the copy of B is behind both"
    assert open_one.offset == 1


def test_half_message_is_asked_for_while_its_end_is_collected(lab: BrokerLab) -> None:
    config = BrokerConfig5(transaction_check_interval=1_000, transaction_time_out=500)
    broker = lab.broker(config, reference=REFERENCE)
    peer = producer(lab, broker)
    half = send_half(peer)
    pass_check(lab)
    assert len(asked(peer)) == 1
    (again,) = halves(broker)[1:]
    end(peer, half._replace(offset=1, commit_log_offset=again.commit_log_offset), ROLLBACK)
    pass_check(lab)
    assert len(asked(peer)) == 1, "its op is not stored yet"


@pytest.mark.parametrize("body", [b"", b",", b"nonsense", b"-1,x,,", b"\xff,"])
def test_op_that_names_no_half_message_is_done(lab: BrokerLab, broker: Broker, body: bytes) -> None:
    peer = producer(lab, broker)
    send_half(peer)
    put(broker, TRANS_OP_HALF_TOPIC, body, tags="d")
    put(broker, TRANS_OP_HALF_TOPIC, b"0,", tags="e")
    pass_check(lab)
    assert asked(peer) == [], "there were ops: the check sleeps before it asks"
    lab.pass_time(SLEEP_MS)
    assert len(asked(peer)) == 1
    assert progress(broker) == (1, 2), "one of another kind, too"


@pytest.mark.parametrize(
    ("interval_ms", "late_ms"),
    [(1_000, 0), (1_500, 0), (2_000, 0), (2_000, 700), (3_000, 0), (3_000, 10), (3_000, 700)],
)
def test_transaction_that_checks_commit_is_not_committed_for_ever(
    lab: BrokerLab, interval_ms: int, late_ms: int
) -> None:
    config = BrokerConfig5(transaction_check_interval=interval_ms, transaction_time_out=500)
    broker = lab.broker(config, reference=REFERENCE)
    peer = producer(lab, broker)
    send_half(peer)
    committed = 0
    for _ in range(100):
        pass_check(lab)
        lab.pass_time(late_ms)
        for check in asked(peer):
            committed += 1
            end(peer, check.half)
    assert 1 <= len(stored(broker)) == committed <= 3


# -- late ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "age_ms", "refused"),
    [
        ("8", 8_000, False),
        ("8", 8_001, True),
        ("2", 6_000, False),
        ("2", 6_001, True),
        ("nonsense", 6_001, True),
        ("", 60_000, False),
    ],
)
def test_end_after_the_immunity_time_is_refused(
    lab: BrokerLab, broker: Broker, peer: Peer, seconds: str, age_ms: int, refused: bool
) -> None:
    half = send_half(peer, more=f"CHECK_IMMUNITY_TIME_IN_SECONDS={seconds}" if seconds else "")
    lab.pass_time(age_ms)
    answer = end(peer, half)
    assert answer.code == (ResponseCode5.ILLEGAL_OPERATION if refused else 0)
    assert len(stored(broker)) == (not refused)
    assert end(peer, half, from_transaction_check=True).code == 0, "the broker asked"
