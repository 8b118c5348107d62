"""Delayed messages: when each level delivers, in which order, and what is discarded."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.clock.timers import Domain, domain_of
from fakemq.events import (
    AppendRefused,
    LogAppended,
    Scheduled,
    ScheduledDelivered,
    ScheduledDiscarded,
)
from fakemq.protocol.codes import RequestCode
from fakemq.store.memory_files import MemoryFiles
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import code, long_pull
from tests.support.delays import SCHEDULE, Delays
from tests.support.peer import Peer
from tests.support.time import START_MS


@pytest.fixture
def delays(lab: BrokerLab) -> Delays:
    return Delays(lab)


# -- when -----------------------------------------------------------------------------------------


def test_delayed_message_is_delivered_when_due_and_never_earlier(delays: Delays) -> None:
    delays.send(2, b"later", queue_id=3)
    assert delays.timers() == [("delay_level_2", 2_000)]
    delays.pass_ms(1_999)
    assert delays.bodies(queue_id=3) == []
    delays.pass_ms(1)
    (message,) = delays.stored(queue_id=3)
    assert message.body == b"later"
    assert message.store_timestamp_ms == START_MS + 2_000
    assert message.born_timestamp_ms == START_MS - 5
    assert delays.timers() == []


def test_broker_without_delayed_messages_has_no_deadline(delays: Delays) -> None:
    delays.send(0)
    kinds = {timer.kind for timer in delays.lab.clock.timers()}
    assert not any("delay" in kind for kind in kinds)


def test_level_has_one_deadline_for_all_its_messages(delays: Delays) -> None:
    for ms in (0, 100, 100):
        delays.pass_ms(ms)
        delays.send(1)
        delays.send(3)
    assert delays.timers() == [("delay_level_1", 800), ("delay_level_3", 2_800)]


def test_deadline_is_found_by_level_and_by_kind(delays: Delays) -> None:
    delays.send(3)
    delays.send(1)
    assert domain_of("delay_level_3") is Domain.DEADLINE
    clock = delays.lab.clock
    assert clock.next_of("delay_level").kind == "delay_level_1"
    assert clock.due_in_ms(clock.next_of("delay_level_3")) == 3_000
    with pytest.raises(LookupError, match="no 'delay_level_2' is pending"):
        clock.next_of("delay_level_2")


@pytest.mark.parametrize("kind", ["delay_level_x", "delay", "level_3", ""])
def test_other_kinds_of_deadlines_have_no_domain(kind: str) -> None:
    with pytest.raises(KeyError):
        domain_of(kind)


def test_level_delivers_in_its_own_order(delays: Delays) -> None:
    delays.send(3, b"1")
    delays.send(1, b"2")
    delays.send(3, b"3")
    delays.send(2, b"4")
    delays.pass_ms(5_000)
    assert delays.bodies() == [b"2", b"4", b"1", b"3"]


def test_delivery_waits_at_most_the_level_when_the_clock_goes_back(delays: Delays) -> None:
    delays.pass_ms(1_000)
    delays.send(3)
    delays.broker.clock.skew_ms = -3_600_000
    assert delays.timers() == [("delay_level_3", 0)]
    delays.pass_ms(0)
    assert len(delays.bodies()) == 1


def test_deadline_comes_earlier_when_the_clock_goes_ahead(delays: Delays) -> None:
    delays.pass_ms(1_000)
    delays.send(3)
    delays.broker.clock.skew_ms = 2_500
    assert delays.timers() == [("delay_level_3", 500)]
    delays.broker.clock.skew_ms = 7_200_000
    assert delays.timers() == [("delay_level_3", 0)]
    delays.broker.clock.skew_ms = 0
    assert delays.timers() == [("delay_level_3", 3_000)]


def test_level_without_delay_is_due_at_the_first_look(lab: BrokerLab) -> None:
    delays = Delays(lab, "0s -5s 1s")
    delays.send(1, b"a")
    delays.send(2, b"b")
    assert delays.timers() == [("delay_level_1", 1_000), ("delay_level_2", 1_000)]
    delays.pass_ms(1_000)
    assert delays.bodies() == [b"a", b"b"]
    delays.send(2, b"c")
    assert delays.timers() == [("delay_level_2", 0)]
    delays.pass_ms(0)
    assert delays.bodies() == [b"a", b"b", b"c"]


def test_delivery_wakes_a_held_pull(delays: Delays) -> None:
    delays.send(1, b"later")
    answer = long_pull(delays.lab.peer(delays.broker.addr), 0)
    delays.pass_ms(999)
    assert not answer.over
    delays.pass_ms(1)
    assert code(answer) == 0


# -- what -----------------------------------------------------------------------------------------


def test_delivered_message_keeps_its_delay_properties(delays: Delays) -> None:
    header = send_header(
        queue_id=2, flag=9, sys_flag=1, reconsume_times=4, properties="DELAY\x011\x02WAIT\x01true"
    )
    delays.peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"body")
    delays.pass_ms(1_000)
    (message,) = delays.stored(queue_id=2)
    assert message.properties == {
        "CLUSTER": "DefaultCluster",
        "DELAY": "1",
        "REAL_QID": "2",
        "REAL_TOPIC": "orders",
        "WAIT": "true",
    }
    assert (message.flag, message.sys_flag, message.reconsume_times) == (9, 1, 4)
    (waiting,) = delays.stored(SCHEDULE)
    assert waiting.properties_string == message.properties_string
    assert (waiting.born_host, waiting.store_host) == (message.born_host, message.store_host)


def test_answer_has_the_requested_queue_and_the_schedule_offset(delays: Delays) -> None:
    delays.send(1)
    header = send_header(queue_id=3, properties="DELAY\x011")
    fields = delays.peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"x").ext_fields
    assert (fields["queueId"], fields["queueOffset"]) == ("3", "1")


def test_delayed_half_message_is_discarded(delays: Delays) -> None:
    delays.put("RMQ_SYS_TRANS_HALF_TOPIC", "DELAY\x011")
    delays.send(1, b"behind it")
    delays.pass_ms(1_000)
    assert delays.bodies("RMQ_SYS_TRANS_HALF_TOPIC") == []
    assert delays.bodies() == [b"behind it"]
    (discarded,) = delays.lab.journal.find(ScheduledDiscarded)
    assert (discarded.level, discarded.topic) == (1, "RMQ_SYS_TRANS_HALF_TOPIC")


def test_committed_transaction_is_delayed(delays: Delays) -> None:
    delays.put("orders", "DELAY\x011", sys_flag=8)
    delays.pass_ms(1_000)
    (message,) = delays.stored()
    assert message.sys_flag == 8


def test_message_without_a_real_topic_is_discarded(delays: Delays) -> None:
    delays.put(SCHEDULE, "TAGS\x01a")
    delays.send(1, b"behind it")
    delays.pass_ms(1_000)
    assert delays.bodies() == [b"behind it"]
    assert len(delays.lab.journal.find(ScheduledDiscarded)) == 1


def test_journal_links_the_delayed_and_the_delivered_message(delays: Delays) -> None:
    properties = "UNIQ_KEY\x01id\x02DELAY\x012"
    header = send_header(queue_id=1, properties=properties)
    delays.peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"x")
    delays.pass_ms(2_000)
    journal = delays.lab.journal
    waiting, come = journal.find(LogAppended, msg_id="id")
    assert journal.find(Scheduled) == [
        Scheduled(
            node="broker-a-0",
            level=2,
            schedule_offset=0,
            phy_offset=waiting.phy_offset,
            due_at_ms=START_MS + 2_000,
            topic="orders",
            msg_id="id",
        )
    ]
    assert journal.find(ScheduledDelivered) == [
        ScheduledDelivered(
            node="broker-a-0",
            level=2,
            schedule_offset=0,
            from_phy_offset=waiting.phy_offset,
            phy_offset=come.phy_offset,
            topic="orders",
            queue_id=1,
            queue_offset=0,
            msg_id="id",
        )
    ]


# -- failures -------------------------------------------------------------------------------------


def test_refused_delivery_is_retried_at_growing_intervals(lab: BrokerLab) -> None:
    delays = Delays(lab)
    delays.send(1, b"1" * 500)
    delays.send(1, b"2")
    files = delays.broker.store.files
    assert isinstance(files, MemoryFiles)
    limit_bytes = files.limit_bytes
    files.limit_bytes = files.used_bytes + 100
    delays.pass_ms(1_000)
    assert delays.timers() == [("delay_level_1", 100)]
    delays.pass_ms(100)
    assert delays.timers() == [("delay_level_1", 200)]
    delays.pass_ms(3_600_000)
    assert len(lab.journal.find(AppendRefused)) < 600
    assert delays.bodies() == []
    files.limit_bytes = limit_bytes
    delays.pass_ms(10_000)
    assert delays.bodies() == [b"1" * 500, b"2"]
    assert delays.timers() == []


def test_deleted_records_are_skipped(lab: BrokerLab) -> None:
    delays = Delays(lab, mapped_file_size_commit_log=4096)
    delays.send(3, b"gone")
    for _ in range(4):
        delays.send(0, b"x" * 2000)
    delays.send(3, b"left")
    store = delays.broker.store
    assert store.delete_expired_files(4096) == 1
    delays.pass_ms(3_000)
    assert b"left" in delays.bodies()
    assert b"gone" not in delays.bodies()


def test_thousand_messages_due_together_are_delivered_together(delays: Delays) -> None:
    for number in range(1_000):
        delays.send(3, str(number).encode())
    fired = delays.lab.clock.advance("3s")
    assert [timer.kind for timer in fired] == ["delay_level_3"]
    assert delays.bodies() == [str(number).encode() for number in range(1_000)]


def test_peers_see_a_delivered_message_only_in_its_real_topic(broker: Broker, peer: Peer) -> None:
    header = send_header(properties="DELAY\x011")
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"x").code == 0
    assert broker.store.max_offset_in_queue("orders", 0) == 0
    assert broker.store.max_offset_in_queue(SCHEDULE, 0) == 1
