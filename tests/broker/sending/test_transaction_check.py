"""Transaction checks: which half messages, when, which producer is asked, how they end."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.sending.transactions import CID_SYS_RMQ_TRANS
from fakemq.config.model import BrokerConfig
from fakemq.config.v5.model import BrokerConfig5
from fakemq.events import TransactionChecked, TransactionDiscarded
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.transaction import ResumeCheckHalfMessageRequestHeader
from fakemq.protocol.topics import (
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import TOPIC, beat
from tests.support.transactions import (
    COMMIT,
    PRODUCERS,
    ROLLBACK,
    asked,
    discarded,
    end,
    halves,
    pass_check,
    producer,
    progress,
    put,
    send_half,
    stored,
)

# -- when -----------------------------------------------------------------------------------------


def test_first_look_creates_the_half_topic(lab: BrokerLab, broker: Broker) -> None:
    lab.pass_time(59_999)
    assert broker.topics.select(TRANS_HALF_TOPIC) is None
    lab.pass_time(1)
    config = broker.topics.select(TRANS_HALF_TOPIC)
    assert config is not None
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (1, 1, 6)
    assert broker.topics.select(TRANS_OP_HALF_TOPIC) is None
    assert progress(broker) == (-1, -1)


def test_looks_repeat_by_one_timer(lab: BrokerLab) -> None:
    lab.broker(BrokerConfig(transaction_check_interval=7_000))
    fired = [timer for timer in lab.clock.advance("21s") if timer.kind == "txn_check"]
    assert [timer.due_ms for timer in fired] == [7_000, 14_000, 21_000]
    assert sum(timer.kind == "txn_check" for timer in lab.clock.timers()) == 1


def test_looks_of_5_5_0_follow_the_interval(lab: BrokerLab) -> None:
    config = BrokerConfig5(transaction_check_interval=7_000)
    lab.broker(config, reference=REFERENCE)
    fired = [timer for timer in lab.clock.advance("8s") if timer.kind == "txn_check"]
    config.transaction_check_interval = 2_000  # from the next look on
    fired += [timer for timer in lab.clock.advance("12s") if timer.kind == "txn_check"]
    assert [timer.due_ms for timer in fired] == [7_000, 14_000, 16_000, 18_000, 20_000]


def test_slave_looks_at_no_half_messages(lab: BrokerLab) -> None:
    lab.broker(BrokerConfig(broker_role="SLAVE", broker_id=1))
    assert all(timer.kind != "txn_check" for timer in lab.clock.timers())


@pytest.mark.parametrize(("sent_ms", "is_asked"), [(54_001, False), (54_000, True), (1, True)])
def test_half_message_younger_than_6_s_is_not_checked(
    lab: BrokerLab, broker: Broker, sent_ms: int, is_asked: bool
) -> None:
    peer = producer(lab, broker)
    lab.pass_time(sent_ms)
    send_half(peer)
    pass_check(lab)
    assert bool(asked(peer)) is is_asked
    pass_check(lab)
    assert asked(peer)


def test_first_young_half_message_ends_the_look(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer, "old")
    lab.pass_time(55_000)
    send_half(peer, "young")
    pass_check(lab)
    assert [check.header.msg_id for check in asked(peer)] == ["old"]
    assert progress(broker)[0] == 1
    pass_check(lab)
    assert [check.header.msg_id for check in asked(peer)] == ["young", "old"]


def test_ended_transaction_is_not_checked(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    places = [send_half(peer, f"K{number}") for number in range(80)]
    for place in places[:-1]:
        end(peer, place, ROLLBACK)
    pass_check(lab)
    assert [check.header.msg_id for check in asked(peer)] == ["K79"]
    assert progress(broker) == (80, 79), "more ops than are read at once"


def test_op_progress_advances_up_to_the_first_gap(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    lab.pass_time(58_000)
    first, second, third = (send_half(peer, key) for key in "ABC")
    end(peer, second, ROLLBACK)
    end(peer, first, ROLLBACK)
    end(peer, third, ROLLBACK)
    end(peer, third, ROLLBACK)
    pass_check(lab)
    assert progress(broker) == (3, 2), "the first of two ops for one is found next time"
    pass_check(lab)
    assert progress(broker) == (3, 4)
    assert asked(peer) == []


# -- immunity of its own --------------------------------------------------------------------------


def test_half_message_may_have_its_own_immunity(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer, more="CHECK_IMMUNITY_TIME_IN_SECONDS=90", flag=3)
    send_half(peer, "other")
    pass_check(lab)
    assert [check.header.msg_id for check in asked(peer)] == ["other"], "the run continues"
    again = halves(broker)[2]
    assert again.properties["TRAN_PREPARED_QUEUE_OFFSET"] == "0"
    assert again.properties["TRANSACTION_CHECK_TIMES"] == "1", "it counts nevertheless"
    assert (again.properties["WAIT"], again.flag) == ("false", 0)
    pass_check(lab)
    check = asked(peer)[0]
    assert check.message.properties["TRANSACTION_CHECK_TIMES"] == "2"
    assert check.message.properties["TRAN_PREPARED_QUEUE_OFFSET"] == "0"
    assert end(peer, check.half).code == 0


def test_half_message_with_long_immunity_is_discarded_unchecked(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(transaction_check_max=2))
    peer = producer(lab, broker)
    send_half(peer, more="CHECK_IMMUNITY_TIME_IN_SECONDS=3600")
    for _ in range(3):
        pass_check(lab)
        beat(peer, "one", producers=[PRODUCERS])
    assert len(discarded(broker)) == 1
    assert not lab.journal.find(TransactionChecked)


@pytest.mark.parametrize(
    ("seconds", "asked_after_3_s"),
    [
        *(("0", True), ("2", True), ("-9", True), ("-1", False), ("x", False)),
        ("9223372036854775807", True),  # -1000 ms: a long wraps
        ("9223372036854775", False),
    ],
)
def test_immunity_is_parsed_as_in_java(
    lab: BrokerLab, broker: Broker, seconds: str, asked_after_3_s: bool
) -> None:
    peer = producer(lab, broker)
    lab.pass_time(57_000)
    send_half(peer, more=f"CHECK_IMMUNITY_TIME_IN_SECONDS={seconds}")
    pass_check(lab)
    assert bool(asked(peer)) is asked_after_3_s


def test_immune_message_with_an_invalid_queue_offset_waits(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    lab.pass_time(57_000)
    send_half(peer, more="CHECK_IMMUNITY_TIME_IN_SECONDS=30,TRAN_PREPARED_QUEUE_OFFSET=x")
    pass_check(lab)
    assert len(halves(broker)) == 1
    pass_check(lab)
    assert len(asked(peer)) == 1


def test_immune_message_ends_with_its_first_offset(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer, more="CHECK_IMMUNITY_TIME_IN_SECONDS=90,TRAN_PREPARED_QUEUE_OFFSET=1")
    end(peer, send_half(peer, "first place"), ROLLBACK)
    pass_check(lab)
    assert progress(broker) == (2, 1)
    assert [check.header.msg_id for check in asked(peer)] == ["first place"], "the op is used up"


def test_immune_message_put_back_is_not_ended_by_its_new_offset(
    lab: BrokerLab, broker: Broker
) -> None:
    peer = producer(lab, broker)
    first = send_half(peer, more="CHECK_IMMUNITY_TIME_IN_SECONDS=90")
    pass_check(lab)
    end(peer, first)
    pass_check(lab)
    assert (len(asked(peer)), len(stored(broker))) == (1, 1)


# -- how often, and which producer ----------------------------------------------------------------


def test_half_message_is_discarded_at_the_16th_look_after_15_checks(
    lab: BrokerLab, broker: Broker
) -> None:
    peer = producer(lab, broker)
    send_half(peer, "A", more="TAGS=t")
    times = []
    for _ in range(15):
        pass_check(lab)
        times += [check.message.properties["TRANSACTION_CHECK_TIMES"] for check in asked(peer)]
        beat(peer, "one", producers=[PRODUCERS])
    assert times == [str(number) for number in range(1, 16)]
    assert broker.topics.select(TRANS_CHECK_MAX_TIME_TOPIC) is None
    pass_check(lab)
    (message,) = discarded(broker)
    assert (message.body, message.tags, message.properties["REAL_TOPIC"]) == (b"body", "t", TOPIC)
    config = broker.topics.select(TRANS_CHECK_MAX_TIME_TOPIC)
    assert config is not None
    assert (config.write_queue_nums, config.perm) == (1, 6)
    pass_check(lab)
    assert (len(discarded(broker)), asked(peer)) == (1, [])
    checks = lab.journal.find(TransactionChecked, msg_id="A")
    assert [check.times for check in checks] == list(range(1, 16))
    (event,) = lab.journal.find(TransactionDiscarded)
    assert (event.topic, event.times, event.msg_id) == (TOPIC, 15, "A")
    assert progress(broker) == (16, -1)


def test_check_request_has_javas_fields(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer, "A", queue_id=3, flag=5)
    pass_check(lab)
    (check,) = asked(peer)
    header, message = check.header, check.message
    assert (header.msg_id, header.transaction_id) == ("A", "A")
    assert check.half.offset == 1
    assert header.offset_msg_id == halves(broker)[1].offset_msg_id
    assert (message.topic, message.queue_id, message.flag) == (TOPIC, 3, 5)
    assert (message.queue_offset, message.commit_log_offset) == check.half
    assert message.store_timestamp_ms == halves(broker)[0].store_timestamp_ms
    assert message.properties["WAIT"] == "false"
    end(peer, check.half, COMMIT, from_transaction_check=True)
    (committed,) = broker.store.messages_in_queue(TOPIC, 3)
    assert committed.properties["TRANSACTION_CHECK_TIMES"] == "1"
    assert committed.flag == 0, "lost when it was put back"


def test_producers_of_the_group_are_asked_in_turn(lab: BrokerLab, broker: Broker) -> None:
    peers = [producer(lab, broker, name) for name in ("one", "two", "three")]
    stranger = lab.peer(broker.addr)
    beat(stranger, "stranger", producers=["others"])
    for key in "ABC":
        send_half(peers[0], key)
    pass_check(lab)
    assert sorted(len(asked(peer)) for peer in peers) == [1, 1, 1]
    assert asked(stranger) == []


def test_another_producer_is_asked_when_one_has_died(lab: BrokerLab, broker: Broker) -> None:
    first = producer(lab, broker, "one")
    send_half(first)
    first.close()
    second = producer(lab, broker, "two")
    pass_check(lab)
    (check,) = asked(second)
    end(second, check.half)
    assert len(stored(broker)) == 1


def test_check_counts_when_no_producer_is_connected(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer)
    peer.close()
    pass_check(lab)
    later = producer(lab, broker, "later")
    pass_check(lab)
    (check,) = asked(later)
    assert check.message.properties["TRANSACTION_CHECK_TIMES"] == "2"
    assert [event.peer is None for event in lab.journal.find(TransactionChecked)] == [True, False]


def test_last_check_can_still_be_answered(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(transaction_check_max=1))
    peer = producer(lab, broker)
    for key in "ABC":
        send_half(peer, key)
    pass_check(lab)
    checks = asked(peer)
    assert (len(checks), discarded(broker)) == (3, [])
    for check in checks:
        end(peer, check.half)
    pass_check(lab)
    assert (len(stored(broker)), discarded(broker)) == (3, [])


@pytest.mark.parametrize(("times", "said"), [("14", "15"), ("-3", "-2"), ("x", "0")])
def test_number_of_checks_is_parsed_as_in_java(
    lab: BrokerLab, broker: Broker, times: str, said: str
) -> None:
    peer = producer(lab, broker)
    send_half(peer, more=f"TRANSACTION_CHECK_TIMES={times}")
    pass_check(lab)
    (check,) = asked(peer)
    assert check.message.properties["TRANSACTION_CHECK_TIMES"] == said


def test_unanswerable_half_message_is_never_checked(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer, body=b"")
    put(broker, TRANS_HALF_TOPIC, b"of no topic")
    pass_check(lab)
    assert (asked(peer), len(halves(broker))) == ([], 4)


def test_overlong_topic_does_not_block_other_checks(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    properties = f"REAL_TOPIC\x01{'x' * 300}\x02REAL_QID\x010\x02PGROUP\x01{PRODUCERS}"
    header = send_header(TOPIC, properties=properties)
    msg_id = peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"x").ext_fields["msgId"]
    resume = ResumeCheckHalfMessageRequestHeader(msg_id=msg_id)
    assert peer.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, resume).code == 0
    send_half(peer, "behind")
    pass_check(lab)
    assert [check.header.msg_id for check in asked(peer)] == ["behind"]
    assert progress(broker)[0] == 2
    assert [event.peer is None for event in lab.journal.find(TransactionChecked)] == [True, False]


# -- what a run may find ---------------------------------------------------------------------------


def test_progress_set_by_a_client_is_used(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer)
    broker.offsets.commit(CID_SYS_RMQ_TRANS, TRANS_HALF_TOPIC, 0, -5)
    pass_check(lab)
    assert (asked(peer), progress(broker)) == ([], (-5, -1))
    broker.offsets.commit(CID_SYS_RMQ_TRANS, TRANS_HALF_TOPIC, 0, 77)
    broker.offsets.commit(CID_SYS_RMQ_TRANS, TRANS_OP_HALF_TOPIC, 0, 5)
    end(peer, send_half(peer, "B"), ROLLBACK)
    pass_check(lab)
    assert (asked(peer), progress(broker)) == ([], (2, 1))


def test_op_with_a_future_store_time_is_not_read(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer)
    broker.clock.skew_ms = 120_000
    end(peer, send_half(peer, "B"), ROLLBACK)
    broker.clock.skew_ms = 0
    pass_check(lab)
    assert [check.header.msg_id for check in asked(peer)] == ["K"]


def test_empty_ops_are_skipped(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    send_half(peer)
    put(broker, TRANS_OP_HALF_TOPIC, b"0", tags="e")
    put(broker, TRANS_OP_HALF_TOPIC, b"zero")
    pass_check(lab)
    assert len(asked(peer)) == 1


def test_each_producer_is_asked_about_each_half_message_in_time(
    lab: BrokerLab, broker: Broker
) -> None:
    peers = [producer(lab, broker, name) for name in ("one", "two")]
    for key in "AB":
        send_half(peers[0], key)
    met = set()
    for _ in range(10):
        for peer in peers:
            beat(peer, peer.name, producers=[PRODUCERS])
        pass_check(lab)
        found = [(peer, check.header.msg_id) for peer in peers for check in asked(peer)]
        assert sorted(key or "" for _, key in found) == ["A", "B"]
        met |= set(found)
    assert len(met) == 4, "not always the same one about the same message"


def test_two_half_messages_at_most_change_places_in_a_check(lab: BrokerLab, broker: Broker) -> None:
    peer = producer(lab, broker)
    for key in range(40):
        send_half(peer, str(key))
    pass_check(lab)
    order = [int(check.header.msg_id or "") for check in asked(peer)]
    assert order != sorted(order) == list(range(40))
    for place, key in enumerate(order):
        assert key <= place + 1, "of two that wait, one is asked for"
