"""What is said of messages after a log was cut off: the old master's, when it returns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.biographies import steps
from fakemq.biographies.chronicle import Rising
from fakemq.biographies.roles import MOST, Roles
from fakemq.broker.seeding import seed as put
from fakemq.clock.clock import Clock
from fakemq.events import LogTruncated, NodeStarted, RoleChanged
from fakemq.events.replication import Replicated
from fakemq.handles.values import Message
from fakemq.journal.journal import Journal


def test_message_behind_a_cut_is_replicated_to_the_old_master() -> None:
    with fakemq.Cluster(
        reference="5.5.0",
        controllers=1,
        slaves=1,
        clock="frozen",
        topics={"orders": 1},
        config={"allAckInSyncStateSet": "true"},
    ) as mq:
        mq.seed("orders", ["first"])
        mq.failover("broker-a")
        mq.broker("broker-a@1").restart()
        mq.clock.advance("31s")
        mq.seed("orders", ["kept"])
        mq.clock.advance("1s")
        mq.partition("broker-a@2", "broker-a@1")
        mq.partition("broker-a@2", "controller-0")
        mq.seed("orders", ["lost", "lost, too"])
        mq.clock.advance("16s")
        assert mq.group_of("broker-a").master == "broker-a@1"
        mq.heal()
        mq.clock.advance("31s")
        (cut,) = mq.journal.find(LogTruncated)
        assert cut.node == "broker-a@2"
        mq.seed("orders", ["new"])
        mq.clock.advance("1s")
        bodies = {one.body: one for one in mq.messages("orders")}
        assert bodies.keys() == {b"first", b"kept", b"new"}
        found = [one.node for one in bodies[b"new"].biography if isinstance(one, steps.Replicated)]
        assert found == ["broker-a@2"]


def test_offsets_beyond_a_cut_count_no_more() -> None:
    journal = Journal(Clock(frozen=True))
    for end_offset in (100, 200, 180):
        journal.add(Replicated(node="broker-a@2", phy_offset=0, end_offset=end_offset))
    first, cut_off, again = list(journal)
    rising = Rising()
    rising.put(100, first)
    rising.put(200, cut_off)
    assert rising.past(150) is cut_off
    rising.cut(150)
    assert rising.past(150) is None
    rising.put(180, again)
    assert (rising.past(50), rising.past(150), rising.end_offset) == (first, again, 180)


def test_overwritten_records_are_known_up_to_a_limit() -> None:
    assert Roles({}).overwritten.maxlen == MOST


# -- what a biography and a diagnosis say -----------------------------------------------------


ONE, TWO, THREE = "broker-a@1", "broker-a@2", "broker-a@3"


@pytest.fixture(scope="module")
def running() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        controllers=1,
        slaves=2,
        clock="frozen",
        topics={"orders": 1},
        config={"allAckInSyncStateSet": True},
        seed=1,
    ) as mq:
        yield mq


@pytest.fixture
def mq(running: fakemq.Cluster) -> fakemq.Cluster:
    running.reset()
    return running


def stored(message: Message) -> steps.Stored:
    (found,) = [one for one in message.biography if isinstance(one, steps.Stored)]
    return found


def test_biography_says_how_many_replicas_had_the_message(mq: fakemq.Cluster) -> None:
    producer = mq.producer()
    producer.send("orders", b"three")
    mq.broker(THREE).kill()
    producer.send("orders", b"two")
    three, two = mq.messages("orders")
    assert "answered SEND_OK with 3 of 3 copies" in str(stored(three))
    assert "answered SEND_OK with 2 of 3 copies" in str(stored(two))
    assert stored(two).beside == ""


def test_copies_are_those_of_the_answer_though_a_log_was_cut_later(mq: fakemq.Cluster) -> None:
    mq.broker(THREE).kill()
    mq.producer().send("orders", b"two")
    cut = LogTruncated(node=TWO, phy_offset=0, end_offset=1_000)
    mq.inspect(lambda core: core.journal.add(cut))
    (two,) = mq.messages("orders")
    assert "answered SEND_OK with 2 of 3 copies" in str(stored(two))


def test_message_that_no_slave_had_is_missing_at_the_new_master(mq: fakemq.Cluster) -> None:
    mq.inspect(lambda core: core.brokers[ONE].config.assign({"all_ack_in_sync_state_set": False}))
    mq.partition(ONE, [TWO, THREE])
    mq.producer().send("orders", b"tea")
    new = mq.failover("broker-a").name
    (line,) = [one for one in mq.diagnosis("orders") if "the master of epoch 2" in one]
    assert f"not at {new}, the master of epoch 2, its producer got SEND_OK" in line
    with pytest.raises(AssertionError, match="the master of epoch 2, its producer got SEND_OK"):
        mq.assert_consumed("orders", group="billing", count=1)


def test_message_of_a_dead_master_waits_at_the_new_one(mq: fakemq.Cluster) -> None:
    mq.clock.advance("10s")
    mq.producer().send("orders", b"tea")
    mq.failover("broker-a")
    wanted = ["b'tea' of orders: never delivered: group billing has no member"]
    assert mq.diagnosis("orders", "billing") == wanted
    mq.broker(ONE).restart()
    mq.clock.advance("40s")
    assert mq.diagnosis("orders", "billing") == wanted


@pytest.mark.parametrize("overwritten", [False, True])
def test_message_of_a_master_that_was_cut_off_says_so(
    mq: fakemq.Cluster, overwritten: bool
) -> None:
    producer = mq.producer()
    producer.send("orders", b"before")
    mq.clock.advance("6s")
    mq.partition([ONE, "clients"], "others")
    mq.clock.advance("21s")
    sent = producer.send("orders", b"alone", keys="o-2")
    assert sent.status == "SEND_OK"
    new = mq.group_of("broker-a").master
    assert new is not None
    alone = mq.inspect(lambda core: [*core.brokers[ONE].store.messages_in_queue("orders", 0)][-1])
    assert alone.body == b"alone"
    if overwritten:
        mq.inspect(lambda core: put(core.brokers[new], "orders", 0, b"other"))
    mq.heal()
    mq.clock.advance("40s")
    found = mq.diagnosis("orders")
    beside = f"while {new} was the master of epoch 2"
    if overwritten:
        wanted = f"lost by {ONE} {beside}: another record has its place, its producer got SEND_OK"
    else:
        wanted = (
            f"stored at {ONE} {beside}, and cut off at {ONE} when it became a slave of epoch 2,"
            " its producer got SEND_OK"
        )
    (line,) = [line for line in found if wanted in line]
    assert line.startswith("o-2 of orders: ")
    biography = mq.biography(sent.msg_id)
    assert biography.name == f"{sent.msg_id} of orders with the keys o-2"
    assert f"answered SEND_OK with 1 of 3 copies, {beside}" in str(biography[0])
    how = steps.Replaced if overwritten else steps.CutOff
    assert [type(step) for step in biography if step.seq][:2] == [steps.Stored, how]
    with pytest.raises(LookupError, match="no message with the unique id 'o-2'"):
        mq.biography("o-2")


def test_biography_of_a_message_that_was_cut_off_says_when(mq: fakemq.Cluster) -> None:
    mq.inspect(lambda core: core.brokers[ONE].config.assign({"all_ack_in_sync_state_set": False}))
    mq.partition(ONE, [TWO, THREE])
    mq.producer().send("orders", b"tea")
    (message,) = mq.messages("orders")
    mq.failover("broker-a")
    mq.heal()
    mq.broker(ONE).restart()
    mq.clock.advance("40s")
    lines = [str(step) for step in message.biography]
    assert any("answered SEND_OK with 1 of 3 copies" in line for line in lines)
    (cut,) = [line for line in lines if "cut off" in line]
    assert f"cut off at {ONE} when it became a slave of epoch 2" in cut
    (entry,) = mq.journal.entries(LogTruncated)
    causes = [type(one.event) for one in mq.journal.cause_chain(entry)]
    assert causes[0] is RoleChanged
    assert NodeStarted in causes
