"""POP_MESSAGE, with acknowledgements and what happens without: by real bytes on a frozen clock."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.tables.persistence import FIRST_TICK_MS
from fakemq.broker.v5.pop.revive import LAG_MS
from fakemq.broker.v5.pop.revive_queue import FEW
from fakemq.events import Acknowledged, Revived
from fakemq.events import Popped as PoppedEvent
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.peer import Peer
from tests.support.pops import (
    GROUP,
    INVISIBLE_MS,
    TOPIC,
    Popped,
    ack,
    batch_ack,
    long_pop,
    pop,
    send,
)

REVIVED_MS = INVISIBLE_MS + LAG_MS
"""When a message that was not acknowledged is in its retry topic, after the pop."""
RETRY_TOPIC = f"%RETRY%{GROUP}_{TOPIC}"


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


# -- what is found ----------------------------------------------------------------------------


def test_pop_returns_messages_of_all_queues_with_their_offsets(broker: Broker, peer: Peer) -> None:
    for body, queue_id in ((b"a", 0), (b"b", 1), (b"c", 0)):
        send(peer, body, queue_id=queue_id)
    popped = Popped(pop(peer))
    fields = popped.answer.ext_fields
    assert (popped.answer.code, popped.answer.remark) == (0, "FOUND")
    assert sorted(popped.bodies) == [b"a", b"b", b"c"]
    assert sorted(fields["startOffsetInfo"].split(";")) == ["0 0 0", "0 1 0"]
    assert sorted(fields["msgOffsetInfo"].split(";")) == ["0 0 0,1", "0 1 0"]
    assert fields["popTime"] == str(broker.clock.now_ms())
    assert fields["invisibleTime"] == str(INVISIBLE_MS)
    assert (fields["reviveQid"], fields["restNum"]) == ("0", "0")
    assert "orderCountInfo" not in fields


def test_pop_of_one_queue_leaves_the_others(peer: Peer) -> None:
    send(peer, b"a", queue_id=0)
    send(peer, b"b", queue_id=1)
    assert Popped(pop(peer, queue_id=1)).bodies == [b"b"]


def test_pops_take_turns_at_the_revive_queues(peer: Peer) -> None:
    assert [pop(peer).ext_fields["reviveQid"] for _ in range(9)] == [*"012345670"]


def test_first_pop_begins_at_the_end_of_a_topic_that_is_not_new(peer: Peer, broker: Broker) -> None:
    for _ in range(3):
        send(peer)
    assert len(Popped(pop(peer, init_mode=1)).messages) == 3  # all are in memory
    broker.config.access_message_in_memory_max_ratio = 0
    late = pop(peer, init_mode=1, consumer_group="late", queue_id=0)
    assert len(Popped(late).messages) == 1


# -- acknowledged or not ----------------------------------------------------------------------


def test_acknowledged_message_never_comes_again(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    popped = Popped(pop(peer))
    assert ack(peer, popped, popped.messages[0]).code == 0
    lab.pass_time(3 * REVIVED_MS)
    assert pop(peer).code == 210
    assert lab.journal.find(Revived) == []
    assert [one.queue_offset for one in lab.journal.find(Acknowledged)] == [0]


def test_message_comes_again_after_its_invisible_time(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    pop(peer)
    lab.pass_time(REVIVED_MS - 1)
    assert pop(peer).code == 210
    lab.pass_time(1)
    again = Popped(pop(peer))
    assert again.bodies == [b"hello"]
    (message,) = again.messages
    assert (message.topic, message.reconsume_times) == (TOPIC, 1)
    assert message.properties["1ST_POP_TIME"]
    assert message.properties["ORIGIN_GROUP"] == GROUP
    assert again.handle(message).split(" ")[4] == "1"
    assert again.answer.ext_fields["startOffsetInfo"] == "1 0 0"


def test_attempts_are_counted(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    counts = []
    for _ in range(4):
        counts += [message.reconsume_times for message in Popped(pop(peer)).messages]
        lab.pass_time(REVIVED_MS)
    assert counts == [0, 1, 2, 3]


def test_message_of_a_retry_topic_is_acknowledged_by_its_own_handle(
    lab: BrokerLab, peer: Peer
) -> None:
    send(peer)
    pop(peer)
    lab.pass_time(REVIVED_MS)
    again = Popped(pop(peer))
    assert ack(peer, again, again.messages[0]).code == 0
    lab.pass_time(3 * REVIVED_MS)
    assert pop(peer).code == 210


def test_messages_of_a_batch_that_are_not_acknowledged_come_again(
    lab: BrokerLab, peer: Peer
) -> None:
    for body in (b"a", b"b", b"c"):
        send(peer, body)
    popped = Popped(pop(peer))
    assert batch_ack(peer, popped, [popped.messages[0], popped.messages[2]]).code == 0
    lab.pass_time(REVIVED_MS)
    assert Popped(pop(peer)).bodies == [b"b"]


@pytest.mark.parametrize("hours", [1, 12])
def test_long_invisible_time_is_one_advance(
    lab: BrokerLab, broker: Broker, peer: Peer, hours: int
) -> None:
    send(peer)
    invisible_ms = hours * 3_600_000
    pop(peer, invisible_time=invisible_ms)
    lab.pass_time(invisible_ms + LAG_MS - 1)
    later = lab.peer(broker.addr, "later")
    assert pop(later).code == 210
    lab.pass_time(1)
    assert Popped(pop(later)).bodies == [b"hello"]


def test_revive_is_a_named_deadline(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    pop(peer)
    lab.pass_time(INVISIBLE_MS)
    assert "pop_revive" in {timer.kind for timer in lab.clock.timers()}


def test_revive_survives_a_restart(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    send(peer)
    pop(peer)
    lab.pass_time(FIRST_TICK_MS)  # the group's offset is written
    broker.kill()
    broker.start()
    lab.pass_time(REVIVED_MS + 5_000)
    again = lab.peer(broker.addr, "again")
    assert Popped(pop(again)).bodies == [b"hello"]


def test_revive_commits_what_is_done(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    send(peer)
    pop(peer)
    lab.pass_time(REVIVED_MS)
    revive_topic = f"rmq_sys_REVIVE_LOG_{broker.config.broker_cluster_name}"
    assert broker.offsets.query("CID_RMQ_SYS_REVIVE_GROUP", revive_topic, 0) == 0


def test_message_is_not_revived_again_behind_a_long_invisible_time(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    reviving = broker5(broker).pop.config.revive_queue_num
    for body in (b"long", *[b"short"] * reviving):
        send(peer, body)
    pop(peer, max_msg_nums=1, invisible_time=3_600_000)
    for _ in range(reviving):  # the last one comes into the revive queue of the first
        pop(peer, max_msg_nums=1)
    lab.pass_time(REVIVED_MS)
    lab.pass_time(FIRST_TICK_MS)  # the offsets are written
    broker.kill()
    broker.start()
    lab.pass_time(REVIVED_MS + 5_000)
    again = lab.peer(broker.addr, "again")
    assert Popped(pop(again)).bodies == [b"short"] * reviving
    lab.pass_time(3_600_000)
    later = lab.peer(broker.addr, "later")
    assert Popped(pop(later)).bodies.count(b"long") == 1


def test_acknowledged_messages_have_no_deadline(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    for body in (b"a", b"b"):
        send(peer, body)
    popped = Popped(pop(peer))
    ack(peer, popped, popped.messages[0])
    assert "pop_revive" in {timer.kind for timer in lab.clock.timers()}
    ack(peer, popped, popped.messages[1])
    assert "pop_revive" not in {timer.kind for timer in lab.clock.timers()}
    assert [*broker5(broker).pop.revive.waiting()] == []


def test_acknowledged_checkpoints_are_committed(broker: Broker, peer: Peer) -> None:
    reviving = broker5(broker).pop.config.revive_queue_num
    for _ in range(reviving * (FEW + 1)):
        send(peer)
        popped = Popped(pop(peer))
        ack(peer, popped, popped.messages[0])
    revive_topic = f"rmq_sys_REVIVE_LOG_{broker.config.broker_cluster_name}"
    assert broker.offsets.query("CID_RMQ_SYS_REVIVE_GROUP", revive_topic, 0) == 2 * FEW


def test_retry_topic_is_created_with_one_queue(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    send(peer)
    pop(peer)
    lab.pass_time(REVIVED_MS)
    assert broker.topics.select(RETRY_TOPIC) == TopicConfig(
        topic_name=RETRY_TOPIC, read_queue_nums=1, write_queue_nums=1, perm=6, attributes={}
    )
    assert broker.offsets.query(GROUP, RETRY_TOPIC, 0) == 0


def test_messages_of_a_deleted_topic_are_not_revived(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    send(peer)
    pop(peer)
    broker.delete_topic(TOPIC)
    lab.pass_time(2 * REVIVED_MS)
    assert broker.topics.select(RETRY_TOPIC) is None


# -- long polling -----------------------------------------------------------------------------


def test_held_pop_ends_with_its_time(lab: BrokerLab, peer: Peer) -> None:
    answer = long_pop(peer, 15_000)
    lab.pass_time(14_950)
    assert not answer.over
    lab.pass_time(1)
    assert answer.response is not None
    assert answer.response.code == 210


def test_arrival_wakes_one_held_pop(peer: Peer) -> None:
    answers = [long_pop(peer) for _ in range(3)]
    send(peer)
    assert [answer.over for answer in answers] == [True, False, False]


def test_held_pop_by_tag_is_woken_by_its_tag_only(peer: Peer) -> None:
    answer = long_pop(peer, exp="A", exp_type="TAG")
    send(peer, tag="B")
    assert not answer.over
    send(peer, b"mine", tag="A")
    assert answer.response is not None
    assert Popped(answer.response).bodies == [b"mine"]


def test_held_pop_gets_a_revived_message(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    pop(peer)
    answer = long_pop(peer, 30_000)
    lab.pass_time(REVIVED_MS)
    assert answer.response is not None
    assert Popped(answer.response).bodies == [b"hello"]


def test_held_pop_of_a_closed_connection_takes_nothing(lab: BrokerLab, broker: Broker) -> None:
    gone = lab.peer(broker.addr, "gone")
    long_pop(gone)
    gone.session.close("gone")
    lab.network.settle()
    peer = lab.peer(broker.addr)
    send(peer)
    assert Popped(pop(peer)).bodies == [b"hello"]


def test_pops_that_find_too_much_inflight_do_not_wake_each_other_for_ever(
    broker: Broker, peer: Peer
) -> None:
    config = broker5(broker).pop.config
    config.enable_pop_message_threshold, config.pop_inflight_message_threshold = True, 0
    send(peer)
    assert Popped(pop(peer)).bodies == [b"hello"]
    send(peer, b"more")
    answers = [long_pop(peer, queue_id=0) for _ in range(2)]
    assert [answer.over for answer in answers] == [False, False]


# -- inside -----------------------------------------------------------------------------------


def test_inflight_messages_are_counted(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    for _ in range(2):
        send(peer)
    popped = Popped(pop(peer))
    inflight = broker5(broker).pop.inflight
    assert inflight.of_group(GROUP) == {(TOPIC, 0): 2}
    ack(peer, popped, popped.messages[0])
    assert inflight.count(TOPIC, GROUP, 0) == 1
    lab.pass_time(REVIVED_MS)
    assert inflight.of_group(GROUP) == {}


def test_pop_is_in_the_journal(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    send(peer)
    pop(peer)
    (event,) = lab.journal.find(PoppedEvent)
    assert event.invisible_until_ms == broker.clock.now_ms() + INVISIBLE_MS
    assert (event.group, event.topic, event.count) == (GROUP, TOPIC, 1)


def test_reset_forgets_what_is_out(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    send(peer)
    pop(peer, order=True, queue_id=0)
    broker.reset()
    broker.create_topic(TOPIC, 2)
    send(peer, b"new")
    assert Popped(pop(peer, order=True, queue_id=0)).bodies == [b"new"]


def test_pop_of_a_broker_of_4_9_7_is_unknown(lab: BrokerLab) -> None:
    older = BrokerLab()
    broker = older.broker()
    assert older.peer(broker.addr).ask(RequestCode5.POP_MESSAGE).code == 3
