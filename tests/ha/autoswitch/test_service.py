"""A group of brokers under a controller: sets, confirm offset, sends and changes of the master."""

# Over 400 lines: one short test for each rule of the set, of sends, and of changes of the master.

from __future__ import annotations

from collections.abc import Callable

import pytest

import fakemq.store.index
from fakemq.broker.broker import Broker
from fakemq.errors import StoreError
from fakemq.events import (
    Dispatched,
    InSyncSetProposed,
    LogTruncated,
    Scheduled,
    Warned,
)
from fakemq.ha.autoswitch.sync_set import CaughtUp, InSyncSet
from fakemq.protocol.codes import ResponseCode
from tests.support.autoswitch_lab import AutoSwitched
from tests.support.peer import Answer
from tests.support.replication import log_bytes

OK, TIMEOUT = ResponseCode.SUCCESS, ResponseCode.FLUSH_SLAVE_TIMEOUT
NO_WAIT = "WAIT\x01false"


def group(brokers: int = 2, **config: object) -> AutoSwitched:
    """Brokers that are all in sync, the first of them the master."""
    lab = AutoSwitched(brokers, **{"all_ack_in_sync_state_set": True, **config})
    lab.elect(1)
    lab.agree()
    assert lab.master.sync_set.local == set(lab.brokers)
    return lab


def code(answer: Answer) -> int | None:
    return None if answer.response is None else answer.response.code


def send(lab: AutoSwitched, body: bytes = b"hello", **fields: object) -> int | None:
    answer = lab.send(body, **fields)
    lab.network.settle()
    return code(answer)


def assert_same(lab: AutoSwitched) -> None:
    """All logs and epochs are equal."""
    ends = set(lab.ends().values())
    assert len(ends) == 1
    (end,) = ends
    assert len({log_bytes(one.store, 0, end) for one in lab.brokers.values()}) == 1
    assert len({tuple(lab.starts(number)) for number in lab.brokers}) == 1


# -- joining ---------------------------------------------------------------------------------------


def test_slave_joins_the_set_with_its_first_report_5_s_after_the_handshake() -> None:
    lab = AutoSwitched(2)
    lab.elect(1)
    send(lab)
    lab.lab.pass_time(5_000)
    assert lab.ends()[2] == 0
    assert not lab.proposed
    lab.lab.pass_time(1)
    assert lab.proposed == [{1, 2}]
    assert lab.master.sync_set.local == {1, 2}
    assert_same(lab)


def test_slave_that_is_asked_to_catch_up_reports_at_once() -> None:
    lab = AutoSwitched(2)
    lab.elect(1)
    send(lab)
    lab.ha(2).sync_now()
    lab.network.settle()
    assert_same(lab)


def test_learner_gets_everything_and_never_joins() -> None:
    lab = AutoSwitched(1, all_ack_in_sync_state_set=True)
    lab.add(2, async_learner=True)
    lab.elect(1)
    send(lab)
    lab.agree()
    assert send(lab) == OK
    lab.lab.pass_time(100)
    assert_same(lab)
    assert not lab.proposed
    assert lab.master.sync_set.local == {1}


def test_slave_joins_only_with_all_that_is_confirmed() -> None:
    lab = group()
    lab.add(3)
    for _ in range(3):
        send(lab)
    lab.follow(3)
    lab.agree()
    assert lab.proposed[-1] == {1, 2, 3}
    assert_same(lab)


# -- the confirm offset ----------------------------------------------------------------------------


def test_message_is_readable_when_the_set_has_it() -> None:
    lab = group()
    lab.brokers[2].pause()
    answer = lab.send()
    lab.network.settle()
    assert code(answer) is None
    assert (lab.queued(1), lab.master.confirm_offset) == (0, 0)
    lab.brokers[2].resume()
    lab.network.settle()
    assert code(answer) == OK
    assert (lab.queued(1), lab.master.confirm_offset) == (1, lab.ends()[1])


def test_late_record_keeps_the_time_at_which_it_was_stored() -> None:
    lab = group()
    lab.brokers[2].pause()
    for _ in range(3):
        lab.send(properties=f"DELAY\x013\x02{NO_WAIT}")
        lab.lab.pass_time(1_000)
    assert not lab.journal.find(Scheduled)
    lab.take({1})  # all that waited is confirmed at once
    due_ms = [scheduled.due_at_ms for scheduled in lab.journal.find(Scheduled)]
    assert [due - due_ms[0] for due in due_ms] == [0, 1_000, 2_000]


def test_slave_learns_the_confirm_offset_with_the_next_frame() -> None:
    lab = group()
    send(lab)
    assert (lab.queued(1), lab.queued(2)) == (1, 0)
    assert lab.ha(2).confirm_offset == 0
    lab.agree()
    assert lab.queued(2) == 1
    assert lab.ha(2).confirm_offset == lab.ends()[1]


def test_uncommitted_messages_are_readable_if_the_config_says_so() -> None:
    lab = group(read_un_committed=True)
    lab.brokers[2].pause()
    lab.send()
    lab.network.settle()
    assert lab.queued(1) == 1
    assert lab.master.confirm_offset == 0


def test_confirm_offset_is_the_end_unless_all_must_acknowledge() -> None:
    lab = group(all_ack_in_sync_state_set=False)
    lab.brokers[2].pause()
    assert send(lab) == OK
    assert lab.master.confirm_offset == lab.ends()[1]
    assert lab.queued(1) == 1


def test_messages_wait_for_the_set_in_order() -> None:
    lab = group(3)
    send(lab)
    lab.brokers[2].pause()
    for _ in range(20):
        lab.send(b"x" * 3_000)
    lab.network.settle()
    assert lab.queued(1) == 1
    lab.brokers[2].resume()
    lab.network.settle()
    assert lab.queued(1) == 21
    offsets = [message.queue_offset for message in lab.store(1).messages_in_queue("orders", 0)]
    assert offsets == list(range(21))


def test_member_with_an_empty_log_does_not_hold_the_confirm_offset_back() -> None:
    """AutoSwitchHAService.java#computeConfirmOffset passes over reports of 0 (5.5.0)"""
    lab = group(3)
    lab.brokers[2].pause()
    answer = lab.send()
    lab.network.settle()
    assert code(answer) is None
    assert lab.queued(1) == 1


# -- sends: the table of statuses ------------------------------------------------------------------


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_too_small_a_set_refuses_sends_and_stores_nothing(copies: int) -> None:
    lab = group(2, min_in_sync_replicas=copies)
    answer = lab.send()
    lab.network.settle()
    assert answer.response is not None
    if copies < 3:
        assert answer.response.code == OK
    else:
        assert answer.response.code == ResponseCode.SYSTEM_ERROR
        assert answer.response.remark == "in-sync replicas not enough"
        assert lab.ends()[1] == 0


def test_proposed_set_counts_for_the_least_number_of_replicas() -> None:
    """AutoSwitchHAService.java#inSyncReplicasNums: the larger of both (5.5.0)"""
    lab = AutoSwitched(1, min_in_sync_replicas=2)
    lab.elect(1)
    assert send(lab) == ResponseCode.SYSTEM_ERROR
    lab.master.propose(frozenset({1, 2}))
    assert send(lab) == OK


def test_sender_that_does_not_wait_is_never_refused() -> None:
    lab = group(min_in_sync_replicas=3)
    assert send(lab, properties=NO_WAIT) == OK


def test_send_waits_for_no_slave_by_default() -> None:
    lab = group(all_ack_in_sync_state_set=False)
    lab.brokers[2].pause()
    assert send(lab) == OK


def test_send_waits_for_as_many_connections_as_asked_even_if_the_set_shrinks() -> None:
    lab = group(all_ack_in_sync_state_set=False, in_sync_replicas=2)
    assert send(lab) == OK
    lab.brokers[2].kill()
    lab.network.settle()
    assert lab.master.sync_set.local == {1}
    answer = lab.send()
    lab.lab.pass_time(2_999)
    assert code(answer) is None
    lab.lab.pass_time(1)
    assert code(answer) == TIMEOUT


def test_learners_and_strangers_count_as_connections() -> None:
    lab = AutoSwitched(1, in_sync_replicas=2)
    lab.add(2, async_learner=True)
    lab.elect(1)
    lab.agree()
    assert send(lab) == OK


def test_send_waits_for_every_member_and_is_stored_after_a_time_out() -> None:
    lab = group(3)
    lab.brokers[3].pause()
    answer = lab.send()
    lab.lab.pass_time(3_000)
    assert code(answer) == TIMEOUT
    assert lab.ends()[2] == lab.ends()[1] > 0
    lab.brokers[3].resume()
    lab.network.settle()
    assert lab.queued(1) == 1


def test_set_of_one_acknowledges_alone() -> None:
    lab = AutoSwitched(1, all_ack_in_sync_state_set=True)
    lab.elect(1)
    assert send(lab) == OK
    assert lab.queued(1) == 1


# -- shrinking -------------------------------------------------------------------------------------


def test_lost_connection_leaves_the_set_at_once_without_the_controller() -> None:
    """apache/rocketmq#7017"""
    lab = group()
    lab.accepts = False
    lab.brokers[2].pause()
    answer = lab.send()
    lab.network.settle()
    assert code(answer) is None
    lab.brokers[2].kill()
    lab.network.settle()
    assert code(answer) == OK  # a send that waits is freed when the master is alone
    assert lab.master.sync_set.local == {1}
    assert lab.proposed[-1] == {1}
    assert send(lab) == OK


@pytest.mark.parametrize("end", [Broker.stop, Broker.kill])
def test_master_that_ends_proposes_no_set_and_confirms_nothing(
    end: Callable[[Broker], None],
) -> None:
    lab = group()
    proposed = len(lab.proposed)
    lab.brokers[2].pause()
    lab.send()
    lab.network.settle()
    end(lab.brokers[1])
    lab.network.settle()
    assert len(lab.proposed) == proposed
    assert lab.journal.find(InSyncSetProposed, node=lab.brokers[1].name)[-1].members == (1, 2)
    assert not lab.journal.find(Dispatched)


def test_slave_that_reads_nothing_leaves_the_set_after_15_s() -> None:
    lab = group(ha_housekeeping_interval=60_000)
    lab.brokers[2].pause()
    for _ in range(110):
        lab.send(b"x" * 40_000)  # more than sockets hold
    lab.network.settle()
    lab.lab.pass_time(14_900)
    lab.master.check_set()
    assert lab.proposed[-1] == {1, 2}
    lab.lab.pass_time(200)
    lab.master.check_set()
    assert lab.proposed[-1] == {1}


def test_slave_that_was_sent_everything_leaves_the_set_when_its_connection_expires() -> None:
    """AutoSwitchHAConnection.java#transferToSlave: caught up if there is nothing to send (5.5.0)"""
    lab = group()
    lab.brokers[2].pause()
    lab.send()
    lab.lab.pass_time(18_900)
    lab.master.check_set()
    assert lab.proposed[-1] == {1, 2}
    lab.lab.pass_time(200)
    assert lab.proposed[-1] == {1}


def test_member_that_never_connected_leaves_the_set() -> None:
    lab = AutoSwitched(1)
    lab.elect(1)
    lab.take({1, 5})
    lab.master.check_set()
    assert lab.proposed == [{1}]


def test_check_asks_again_until_the_controller_has_answered() -> None:
    lab = group()
    lab.accepts = False
    lab.brokers[2].kill()
    lab.network.settle()
    asked = len(lab.proposed)
    lab.master.check_set()
    assert len(lab.proposed) == asked + 1
    lab.take({1})
    lab.master.check_set()
    assert len(lab.proposed) == asked + 1


# -- while a change is under way -------------------------------------------------------------------


def test_members_of_both_sets_count_until_the_controller_answers() -> None:
    """apache/rocketmq#5663"""
    lab = AutoSwitched(2, all_ack_in_sync_state_set=True)
    lab.accepts = False
    lab.elect(1)
    lab.agree()
    assert lab.master.sync_set.proposed == frozenset({1, 2})
    lab.brokers[2].pause()
    answer = lab.send()
    lab.network.settle()
    assert code(answer) is None
    lab.take({1})
    lab.network.settle()
    assert code(answer) == OK
    assert lab.master.sync_set.proposed is None


def test_refused_member_that_leaves_blocks_sends_until_the_next_accepted_change() -> None:
    """The controller refuses an unknown replica: 2003; the proposed set stays in the union."""
    lab = group()
    lab.accepts = False
    lab.add(7)
    lab.follow(7)
    lab.agree()
    assert lab.master.sync_set.proposed == frozenset({1, 2, 7})
    lab.brokers[7].kill()
    lab.network.settle()
    assert lab.master.sync_set.local == {1, 2}
    confirmed = lab.master.confirm_offset
    answer = lab.send()
    lab.lab.pass_time(3_000)
    assert code(answer) == TIMEOUT
    assert lab.master.confirm_offset == confirmed
    assert lab.queued(1) == 0
    lab.take({1, 2})
    assert lab.queued(1) == 1
    assert send(lab) == OK


def test_every_set_that_is_asked_for_counts_until_the_answer() -> None:
    members = InSyncSet()
    members.take(frozenset({1, 2}), 1)
    members.propose(frozenset({1, 2, 3}))
    members.propose(frozenset({1, 2, 4}))
    assert members.size == 3
    assert sorted(members.union) == [1, 2, 3, 4]
    assert members.lose(2) == frozenset({1})
    assert members.size == 1
    assert sorted(members.union) == [1, 3, 4]
    members.shrink(frozenset(), 1)
    assert sorted(members.union) == [1, 3, 4]
    members.take(frozenset({1}), 2)
    assert members.proposed is None
    assert sorted(members.union) == [1]


def test_slaves_that_are_in_no_set_and_not_connected_are_forgotten() -> None:
    members = InSyncSet()
    members.take(frozenset({1, 2}), 1)
    members.caught_up = {one: CaughtUp(False, 0) for one in range(2, 100)}
    members.forget_all_but(frozenset({7}))
    assert set(members.caught_up) == {2, 7}


# -- a change of the master ------------------------------------------------------------------------


def test_new_master_begins_an_epoch_and_continues_the_queues() -> None:
    lab = group(3)
    for _ in range(3):
        assert send(lab) == OK
    lab.elect(2)
    assert lab.queued(2) == 3  # all of its log counts now
    assert lab.starts(2) == [(1, 0), (2, lab.ends()[2])]
    assert send(lab) == OK
    lab.agree()
    assert lab.master.sync_set.local == {1, 2, 3}
    assert send(lab) == OK
    assert_same(lab)
    lab.agree()
    assert [lab.queued(number) for number in (1, 2, 3)] == [5, 5, 5]


def stop(lab: AutoSwitched, number: int) -> None:
    lab.brokers[number].kill()
    lab.network.settle()


def test_old_master_that_returns_is_cut_to_the_common_point() -> None:
    lab = group(2)
    assert send(lab) == OK
    common = lab.ends()[1]
    stop(lab, 2)
    assert send(lab, b"lost") == OK  # the master is alone
    end = lab.ends()[1]
    stop(lab, 1)
    lab.restart(2)
    lab.elect(2, slaves=())
    assert send(lab, b"kept") == OK
    lab.restart(1)
    assert lab.queued(1) == 2
    lab.follow(1)
    lab.agree()
    (cut,) = lab.journal.find(LogTruncated)
    assert (cut.node, cut.phy_offset, cut.end_offset) == (lab.brokers[1].name, common, end)
    assert_same(lab)
    lab.agree()
    bodies = [message.body for message in lab.store(1).messages_in_queue("orders", 0)]
    assert bodies == [b"hello", b"kept"]
    assert lab.starts(1) == [(1, 0), (2, common)]
    assert send(lab) == OK
    lab.elect(1)
    lab.agree()
    assert send(lab) == OK
    offsets = [message.queue_offset for message in lab.store(1).messages_in_queue("orders", 0)]
    assert offsets == [0, 1, 2, 3]


def test_incomplete_record_is_cut_before_the_next_one_is_appended() -> None:
    lab = group(2)
    assert send(lab) == OK
    whole = lab.ends()[2]
    store = lab.store(2)
    follower = store.follower
    assert follower is not None
    follower.append(whole, log_bytes(lab.store(1), 0, whole)[: whole - 10])
    assert lab.ends()[2] == 2 * whole - 10
    lab.elect(2, slaves=())
    assert lab.ends()[2] == whole
    assert send(lab) == OK
    assert lab.queued(2) == 2


def test_epoch_without_bytes_is_no_common_point() -> None:
    """The frame that ends an epoch names the next one; its master may die before a byte of it."""
    lab = group(2)
    assert send(lab) == OK
    common = lab.ends()[1]
    lab.elect(1, slaves=())
    assert lab.ha(2).epochs.append(2, common)
    stop(lab, 2)
    assert send(lab, b"lost, and longer than the next") == OK
    stop(lab, 1)
    lab.restart(2)
    lab.elect(2, slaves=())
    assert lab.starts(2) == [(1, 0), (3, common)]
    assert send(lab, b"kept") == OK
    lab.restart(1)
    lab.follow(1)
    lab.agree()
    assert_same(lab)
    assert lab.starts(1) == [(1, 0), (3, common)]


def test_epoch_behind_the_log_is_forgotten_before_the_slave_connects() -> None:
    lab = group(2)
    assert send(lab) == OK
    assert lab.ha(2).epochs.append(2, lab.ends()[2] + 100)
    client = lab.ha(2).client
    assert client is not None
    assert client.end is not None
    client.end.close("lost")
    lab.agree()
    assert lab.starts(2) == [(1, 0)]
    assert_same(lab)


def test_slave_that_cannot_cut_its_log_waits_and_is_no_master(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab = group(2)
    assert send(lab) == OK
    store, whole = lab.store(2), lab.ends()[2]
    assert store.follower is not None
    store.follower.append(whole, log_bytes(lab.store(1), 0, whole)[: whole - 10])

    def refuse(phy_offset: int) -> None:
        raise StoreError(f"nothing is cut at {phy_offset}")

    with monkeypatch.context() as patched:
        patched.setattr(store.log, "truncate", refuse)
        patched.setattr(store, "end_following", list)  # a store on disk keeps its half record
        client = lab.ha(2).client
        assert client is not None
        assert client.end is not None
        client.end.close("lost")
        lab.lab.pass_time(6_000)
        assert not lab.master.connections
        with pytest.raises(StoreError, match="nothing is cut at"):
            lab.ha(2).change_to_master(9)
        assert not lab.ha(2).is_master
    assert lab.ends()[2] == 2 * whole - 10
    texts = [warned.text for warned in lab.journal.find(Warned)]
    assert any(text.startswith("the log cannot be cut") for text in texts)
    lab.follow(2)
    lab.agree()
    assert_same(lab)


def test_sends_that_wait_end_when_the_master_leaves_its_role() -> None:
    lab = group(2)
    lab.brokers[2].pause()
    answer = lab.send()
    lab.network.settle()
    assert code(answer) is None
    assert lab.ha(1).change_to_slave(2, 2, 1)
    lab.network.settle()
    assert code(answer) == TIMEOUT


def test_index_ends_where_records_are_confirmed() -> None:
    lab = group(3)
    assert send(lab) == OK
    assert lab.queued(2) == 0
    assert lab.ha(2).change_to_slave(2, 3, 2)
    assert lab.store(2).log.records_end == 0
    lab.brokers[3].pause()
    end = lab.ends()[1]
    lab.send()
    lab.network.settle()
    assert lab.store(1).log.records_end == end


def test_index_that_is_built_in_steps_ends_where_the_log_was_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fakemq.store.index, "STEP_RECORDS", 1)
    lab = AutoSwitched(1)
    lab.elect(1)
    for _ in range(4):
        assert send(lab, properties="KEYS\x01a") == OK
    store = lab.store(1)
    whole = store.max_phy_offset // 4
    steps = store.index.catch_up_in_steps()
    next(steps)
    store.cut(2 * whole)
    assert list(steps) == [None]
    assert send(lab, properties="KEYS\x01b") == OK
    assert store.index.catch_up()
    assert store.index.files[-1].end_phy_offset == 2 * whole


def test_brokers_without_a_common_epoch_never_agree() -> None:
    lab = AutoSwitched(2, all_ack_in_sync_state_set=True)
    lab.elect(2, slaves=())
    send(lab)
    lab.elect(1, slaves=())
    send(lab)
    lab.follow(2)
    lab.agree()
    assert any("no epoch of" in warned.text for warned in lab.journal.find(Warned))
    assert lab.ends()[2] == lab.ends()[1]
    assert lab.master.sync_set.local == {1}


def test_slave_without_epochs_is_not_cut_and_is_refused_where_it_is_longer() -> None:
    lab = AutoSwitched(2)
    lab.elect(2, slaves=())
    for _ in range(3):
        send(lab)
    lab.ha(2).epochs.clear()
    lab.elect(1, slaves=())
    send(lab)
    lab.follow(2)
    lab.agree()
    assert lab.ends()[2] == 3 * lab.ends()[1]
    assert lab.master.sync_set.local == {1}
    assert any("the commit log ends at" in warned.text for warned in lab.journal.find(Warned))


def test_old_epoch_changes_no_role() -> None:
    lab = group(2)
    send(lab)
    lab.epoch = 4
    lab.elect(2)
    send(lab)
    assert not lab.ha(2).change_to_master(4)
    assert not lab.ha(2).change_to_slave(4, 1, 2)
    assert lab.ha(2).is_master


def test_master_that_remains_one_keeps_its_connections() -> None:
    lab = group(2)
    send(lab)
    (before,) = lab.master.connections
    assert lab.master.change_to_master(9)
    assert lab.master.connections == [before]
    send(lab)
    assert lab.starts(1)[-1] == (9, lab.ends()[1] // 2)
    assert_same(lab)


def test_slave_of_the_same_master_remains_connected() -> None:
    lab = group(2)
    client = lab.ha(2).client
    assert lab.ha(2).change_to_slave(lab.epoch, 1, 2)
    assert lab.ha(2).client is client


def test_set_that_is_asked_for_is_in_the_journal() -> None:
    lab = group(2)
    assert [event.members for event in lab.journal.find(InSyncSetProposed)] == [(1, 2)]


# -- the connection --------------------------------------------------------------------------------


def test_slave_connects_when_a_name_server_says_where_and_every_5_s_until_then() -> None:
    lab = AutoSwitched(2)
    lab.elect(1, slaves=())
    lab.brokers[2].store.role.take("SLAVE")
    lab.ha(2).change_to_slave(1, 1, 2)
    lab.lab.pass_time(30_000)
    assert not lab.master.connections
    lab.tell(2)
    assert len(lab.master.connections) == 1


def test_slave_leaves_a_master_when_name_servers_say_another() -> None:
    lab = group(3)
    assert len(lab.ha(1).connections) == 2
    lab.ha(3).master_is(None, lab.brokers[2].ha_addr)
    lab.network.settle()
    assert [end.slave_id for end in lab.ha(1)._ends()] == [2]
    assert [end.slave_id for end in lab.ha(2)._ends()] == [3]


def test_member_with_two_connections_stays_until_both_are_closed() -> None:
    lab = group(3)
    (first,) = (end for end in lab.master._ends() if end.slave_id == 2)
    (second,) = (end for end in lab.master._ends() if end.slave_id == 3)
    second.connection.slave_id = 2
    first.close("lost")
    assert 2 in lab.master.sync_set.local
    second.close("lost")
    assert lab.master.sync_set.local == {1, 3}


def test_slave_closes_the_connection_of_a_silent_master_after_20_s() -> None:
    lab = group(2)
    client = lab.ha(2).client
    assert client is not None
    first = client.end
    lab.brokers[1].pause()
    lab.lab.pass_time(26_000)
    assert client.end is not first


def test_deleted_files_take_their_epochs_along() -> None:
    lab = AutoSwitched(1)
    lab.elect(1)
    for _ in range(3):
        lab.send(b"x" * 30_000)
        lab.send(b"x" * 30_000)
        lab.network.settle()
        lab.elect(1)
    assert len(lab.starts(1)) == 4
    lab.store(1).delete_expired_files(lab.store(1).max_phy_offset)
    assert lab.starts(1)[0][1] > 0
