"""A broker under a controller: from fenced to running, its roles, its timers, what goes wrong."""

# Over 400 lines: one state machine, with a test for each way through it.

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakemq.broker.v5.replicas.states import ReplicaState
from fakemq.events.core import HandlerFailed, ReplicaStateChanged, RoleChanged, Warned
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.bodies.controller import SyncStateSet
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from fakemq.protocol.v5.headers.namesrv import BrokerHeartbeatRequestHeader
from tests.support.broker_lab import send_header
from tests.support.played_controller import (
    ADDR,
    OTHER_ADDR,
    ControlledBroker,
    PlayedController,
)

BEAT = RequestCode5.BROKER_HEARTBEAT
LEADER = RequestCode5.CONTROLLER_GET_METADATA_INFO
NEXT_ID = RequestCode5.CONTROLLER_GET_NEXT_BROKER_ID
APPLY = RequestCode5.CONTROLLER_APPLY_BROKER_ID
REGISTER = RequestCode5.CONTROLLER_REGISTER_BROKER
ELECT = RequestCode5.CONTROLLER_ELECT_MASTER
INFO = RequestCode5.CONTROLLER_GET_REPLICA_INFO
ALTER = RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET

Make = Callable[..., ControlledBroker]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    return lambda **config: ControlledBroker(monkeypatch, **config)


@pytest.fixture
def one(make: Make) -> ControlledBroker:
    return make()


def state_of(one: ControlledBroker) -> ReplicaState:
    assert one.broker.replicas is not None
    return one.broker.replicas.state


def role_of(one: ControlledBroker) -> str:
    return one.broker.role.name


def codes(controller: PlayedController) -> list[int]:
    return [code for code in controller.codes() if code != BEAT]


def registered(one: ControlledBroker) -> list[tuple[str, str]]:
    """Id and address of each registration at the name server."""
    return [
        (request.ext_fields["brokerId"], request.ext_fields["brokerAddr"])
        for request in one.name_server.requests
        if request.code == RequestCode.REGISTER_BROKER
    ]


def send(one: ControlledBroker) -> tuple[int, str | None]:
    peer = one.lab.peer(one.broker.addr)
    answer = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header("TBW102"), b"x")
    return answer.code, answer.remark


def let_another_lead(one: ControlledBroker, broker_id: int = 7) -> None:
    """Before the start: the group has a master, and the next id is free."""
    group = one.controller.group
    group.master, group.epoch, group.members, group.set_epoch = broker_id, 3, (broker_id,), 5


# -- from fenced to running -------------------------------------------------------------------


def test_first_broker_is_elected_at_once(one: ControlledBroker) -> None:
    broker = one.start()
    assert codes(one.controller) == [LEADER, NEXT_ID, APPLY, REGISTER, ELECT]
    assert state_of(one) is ReplicaState.RUNNING
    assert (broker.role.name, broker.config.broker_id) == ("SYNC_MASTER", 0)
    assert one.replication.calls[:2] == [("set", [1], 1), ("master", 1)]
    assert registered(one) == [("0", broker.addr)]
    assert send(one)[0] == ResponseCode.SUCCESS


def test_states_are_in_the_journal(one: ControlledBroker) -> None:
    one.start()
    assert [event.state for event in one.lab.journal.find(ReplicaStateChanged)] == [
        "INITIAL",
        "FIRST_TIME_SYNC_CONTROLLER_METADATA_DONE",
        "REGISTER_TO_CONTROLLER_DONE",
        "RUNNING",
    ]
    one.broker.kill()
    assert one.lab.journal.find(ReplicaStateChanged)[-1].state == "SHUTDOWN"


def test_next_broker_follows_the_master(one: ControlledBroker) -> None:
    let_another_lead(one)
    broker = one.start()
    assert codes(one.controller) == [LEADER, NEXT_ID, APPLY, REGISTER]
    assert (broker.role.name, broker.config.broker_id) == ("SLAVE", 1)
    assert ("slave", 3, 7, 1) in one.replication.calls
    assert registered(one) == [("1", broker.addr)]
    code, remark = send(one)
    assert code == ResponseCode.SYSTEM_BUSY
    assert remark == "[REJECTREQUEST]system busy, start flow control for a while"


def test_master_that_lives_is_an_answer_to_the_own_candidacy(one: ControlledBroker) -> None:
    one.controller.refuse[REGISTER] = None
    broker = one.start()
    let_another_lead(one)
    one.controller.group.master = None  # registered while none leads
    one.controller.refuse.clear()
    one.controller.refuse[ELECT] = ResponseCode5.CONTROLLER_ELECT_MASTER_FAILED
    one.pass_time(4_000)
    assert state_of(one) is ReplicaState.REGISTER_TO_CONTROLLER_DONE
    one.controller.refuse.clear()
    one.controller.group.master = 7
    one.pass_time(5_000)
    assert broker.role.name == "SLAVE"
    assert state_of(one) is ReplicaState.RUNNING


@pytest.mark.parametrize("code", [NEXT_ID, APPLY, REGISTER, ELECT])
def test_broker_is_fenced_until_every_step_is_done(one: ControlledBroker, code: int) -> None:
    one.controller.refuse[code] = ResponseCode.SYSTEM_ERROR
    broker = one.start()
    assert one.broker.role.fenced
    one.pass_time(60_000)
    assert registered(one) == []
    # One heartbeat by hand before each candidacy, no others.
    assert len(one.controller.of(BEAT)) == len(one.controller.of(ELECT))
    code_of_send, remark = send(one)
    assert code_of_send == ResponseCode.SERVICE_NOT_AVAILABLE
    assert remark is not None
    assert remark.startswith("service not available now.")
    one.controller.refuse.clear()
    one.pass_time(6_000)
    assert not broker.role.fenced
    assert registered(one)
    assert send(one)[0] == ResponseCode.SUCCESS


def test_fenced_broker_answers_what_only_reads(one: ControlledBroker) -> None:
    one.controller.refuse[ELECT] = ResponseCode5.CONTROLLER_ELECT_MASTER_FAILED
    one.start()
    peer = one.lab.peer(one.broker.addr)
    assert peer.ask(RequestCode.GET_BROKER_RUNTIME_INFO).code == ResponseCode.SUCCESS
    fields = {"topic": "TBW102", "queueId": "0"}
    assert peer.ask(RequestCode.GET_MAX_OFFSET, ext_fields=fields).code == ResponseCode.SUCCESS
    found = peer.ask(RequestCode5.GET_BROKER_EPOCH_CACHE)
    assert b'"brokerId":0' in found.body


def test_without_a_leader_it_asks_three_times_then_after_five_seconds(
    one: ControlledBroker,
) -> None:
    one.controller.leader = ""
    one.start()
    assert codes(one.controller) == [LEADER]
    one.pass_time(2_000)
    assert codes(one.controller) == [LEADER] * 3
    one.pass_time(5_999)  # a second after the third, then five more
    assert codes(one.controller) == [LEADER] * 3
    one.pass_time(1)
    assert codes(one.controller) == [LEADER] * 4
    one.controller.leader = ADDR
    one.pass_time(1_000)
    assert state_of(one) is ReplicaState.RUNNING


def test_fenced_broker_says_once_what_it_waits_for(one: ControlledBroker) -> None:
    one.controller.leader = ""
    one.start()
    one.pass_time(60_000)
    (warned,) = one.lab.journal.find(Warned)
    assert warned.text == (
        f"controllerAddr={ADDR}: no controller there names a leader; until then this broker is in"
        " no route, and refuses sends (code 14). It tries again every 5 s"
    )


def test_controller_that_comes_later_is_found(one: ControlledBroker) -> None:
    one.controller.up = False
    one.start()
    one.pass_time(20_000)
    assert state_of(one) is ReplicaState.INITIAL
    one.controller.up = True
    one.pass_time(8_000)
    assert state_of(one) is ReplicaState.RUNNING


# -- ids and their files ----------------------------------------------------------------------


def identity_files(one: ControlledBroker) -> tuple[object, object]:
    replicas = one.broker.replicas
    assert replicas is not None
    return replicas.identity.read(), replicas.identity.read_temp()


def test_identity_is_kept_over_a_restart(one: ControlledBroker) -> None:
    broker = one.start()
    metadata, temp = identity_files(one)
    assert metadata is not None
    assert temp is None
    broker.kill()
    one.controller.elect(None)
    del one.controller.requests[:]
    broker.start(())
    one.lab.network.settle()
    assert codes(one.controller) == [LEADER, REGISTER, ELECT]
    assert identity_files(one) == (metadata, None)


def test_id_that_another_has_is_given_up_for_the_next(one: ControlledBroker) -> None:
    one.controller.group.codes[1] = "another"
    one.start()
    one.controller.group.next_id = 2
    one.pass_time(1_000)
    assert one.broker.replicas is not None
    assert one.broker.replicas.own_id == 2


def test_lost_answer_and_a_crash_keep_the_id(one: ControlledBroker) -> None:
    one.controller.refuse[APPLY] = None
    broker = one.start()
    (request,) = one.controller.of(APPLY)
    broker.kill()
    one.controller.refuse.clear()
    broker.start(())
    one.lab.network.settle()
    again = one.controller.of(APPLY)[-1]
    assert again.ext_fields == request.ext_fields  # the same check code: the same applicant
    assert broker.replicas is not None
    assert broker.replicas.own_id == 1


@pytest.mark.parametrize("key", ["broker_name", "broker_cluster_name"])
def test_identity_of_another_group_is_never_registered(make: Make, key: str) -> None:
    one = make()
    broker = one.start()
    broker.kill()
    setattr(broker.config, key, "other")
    del one.controller.requests[:]
    broker.start(())
    one.pass_time(10_000)
    assert REGISTER not in codes(one.controller)
    assert any("brokerIdentity says" in event.text for event in one.lab.journal.find(Warned))


def test_registration_continues_from_the_step_that_failed(one: ControlledBroker) -> None:
    one.controller.refuse[REGISTER] = ResponseCode.SYSTEM_ERROR
    one.start()
    one.pass_time(30_000)
    assert len(one.controller.of(NEXT_ID)) == len(one.controller.of(APPLY)) == 1
    assert len(one.controller.of(REGISTER)) > 5
    one.controller.refuse.clear()
    one.pass_time(6_000)
    assert one.broker.replicas is not None
    assert one.broker.replicas.state is ReplicaState.RUNNING


# -- timers -----------------------------------------------------------------------------------


def test_heartbeats_say_how_far_the_broker_is(one: ControlledBroker) -> None:
    broker = one.start()
    before = len(one.controller.of(BEAT))
    send(one)
    one.pass_time(10_000)
    beats = one.controller.of(BEAT)[before:]
    assert len(beats) == 10
    assert all(beat.is_oneway for beat in beats)
    header = BrokerHeartbeatRequestHeader.decode(beats[-1].ext_fields)
    end = broker.store.max_phy_offset
    assert (header.broker_id, header.epoch) == (1, 1)
    assert (header.max_offset, header.confirm_offset) == (end, end)
    assert header.heartbeat_timeout_mills == 10_000
    assert header.election_priority == (1 << 31) - 1


def test_log_without_epochs_beats_with_minus_one(one: ControlledBroker) -> None:
    let_another_lead(one)
    one.start()
    assert one.controller.of(BEAT)[0].ext_fields["epoch"] == "-1"


def test_every_reachable_controller_gets_heartbeats(make: Make) -> None:
    one = make()
    one.config.controller_addr = f"{ADDR};{OTHER_ADDR};127.0.0.1:1"
    other = PlayedController(one.lab, OTHER_ADDR, one.controller.group)
    other.leader = ADDR
    one.lab.network.listen("127.0.0.1:1", other.accept, is_up=lambda: False)
    one.start()
    one.pass_time(5_000)
    assert len(other.of(BEAT)) == len(one.controller.of(BEAT)) == 6
    other.go()
    one.pass_time(4_000)
    assert one.broker.replicas is not None
    assert list(one.broker.replicas.controllers.reachable) == [ADDR]


def test_polls_keep_to_the_grid_of_java(one: ControlledBroker) -> None:
    one.start()
    del one.controller.requests[:]
    one.pass_time(23_000)
    # First after 3 s; the leader then each 10 s, master and set each 5 s.
    assert len(one.controller.of(LEADER)) == 3
    assert len(one.controller.of(INFO)) == 5


def test_new_leader_is_asked_at_once_if_the_old_one_says_so(one: ControlledBroker) -> None:
    one.config.controller_addr = f"{ADDR};{OTHER_ADDR}"
    other = PlayedController(one.lab, OTHER_ADDR, one.controller.group)
    other.leader = ADDR
    one.start()
    one.pass_time(4_000)
    one.controller.leader = other.leader = OTHER_ADDR
    one.controller.refuse[INFO] = ResponseCode5.CONTROLLER_NOT_LEADER
    one.pass_time(4_000)  # the next refresh is 5 s later
    assert one.broker.replicas is not None
    assert one.broker.replicas.controllers.leader == OTHER_ADDR


# -- roles ------------------------------------------------------------------------------------


def test_pushed_role_is_taken_at_once(one: ControlledBroker) -> None:
    let_another_lead(one)
    broker = one.start()
    one.controller.elect(1)
    one.notify()
    assert (broker.role.name, broker.config.broker_id) == ("SYNC_MASTER", 0)
    calls = [call for call in one.replication.calls if call[0] != "master_is"]
    assert calls[-3:] == [("set", [1], 6), ("master", 4), ("check",)]
    assert registered(one)[-1] == ("0", broker.addr)
    assert broker.topics.data_version.state_version == 4
    changed = one.lab.journal.find(RoleChanged)[-1]
    assert (changed.role, changed.broker_id, changed.epoch) == ("SYNC_MASTER", 0, 4)


def test_lost_push_is_made_up_for_by_the_next_poll(one: ControlledBroker) -> None:
    let_another_lead(one)
    broker = one.start()
    one.controller.elect(1)
    one.pass_time(8_000)
    assert broker.role.name == "SYNC_MASTER"


def test_doubled_and_older_pushes_change_nothing(one: ControlledBroker) -> None:
    let_another_lead(one)
    one.start()
    one.controller.elect(1)
    one.notify()
    calls = list(one.replication.calls)
    one.notify()
    one.controller.group.epoch, one.controller.group.master = 2, 7
    one.notify()
    assert one.replication.calls == calls
    assert one.broker.role.name == "SYNC_MASTER"


def test_master_becomes_the_slave_of_another(one: ControlledBroker) -> None:
    broker = one.start()
    one.controller.elect(7)
    one.notify()
    assert (broker.role.name, broker.config.broker_id) == ("SLAVE", 1)
    assert ("slave", 2, 7, 1) in one.replication.calls
    assert send(one)[0] == ResponseCode.SYSTEM_BUSY
    del one.replication.calls[:]
    one.pass_time(20_000)
    assert ("check",) not in one.replication.calls  # only masters look at the set


def test_master_that_stays_takes_the_epoch_and_keeps_its_connections(
    one: ControlledBroker,
) -> None:
    broker = one.start()
    before = len(one.lab.journal.find(RoleChanged))
    one.controller.elect(1)
    one.notify()
    assert ("master", 2) in one.replication.calls
    assert broker.topics.data_version.state_version == 2
    assert len(one.lab.journal.find(RoleChanged)) == before
    assert len(registered(one)) == 2


def test_slave_of_the_same_master_only_registers_anew(one: ControlledBroker) -> None:
    let_another_lead(one)
    broker = one.start()
    calls = [call for call in one.replication.calls if call[0] == "slave"]
    one.controller.elect(7)
    one.notify()
    assert [call for call in one.replication.calls if call[0] == "slave"] == calls
    assert broker.topics.data_version.state_version == 4
    assert len(registered(one)) == 2


def test_group_without_a_master_makes_the_broker_a_candidate(one: ControlledBroker) -> None:
    let_another_lead(one)
    broker = one.start()
    one.controller.elect(None)
    one.pass_time(3_000)
    assert len(one.controller.of(ELECT)) == 1
    assert broker.role.name == "SYNC_MASTER"


def test_lost_group_is_registered_again(one: ControlledBroker) -> None:
    one.start()
    one.controller.refuse[INFO] = ResponseCode5.CONTROLLER_BROKER_METADATA_NOT_EXIST
    before = len(one.controller.of(REGISTER))
    one.pass_time(13_000)
    assert len(one.controller.of(REGISTER)) == before + 3
    assert one.broker.role.name == "SYNC_MASTER"


def test_master_without_controllers_stays_master(one: ControlledBroker) -> None:
    broker = one.start()
    one.controller.go()
    one.pass_time(60_000)
    assert broker.role.name == "SYNC_MASTER"
    assert send(one)[0] == ResponseCode.SUCCESS


def test_killed_broker_begins_fenced_again(one: ControlledBroker) -> None:
    broker = one.start()
    broker.kill()
    one.controller.refuse[REGISTER] = None
    broker.start(())
    assert broker.role.fenced
    assert broker.config.broker_id == 0


def test_paused_broker_follows_late(one: ControlledBroker) -> None:
    broker = one.start()
    broker.pause()
    one.controller.elect(7)
    one.pass_time(30_000)
    beats = len(one.controller.of(BEAT))
    assert role_of(one) == "SYNC_MASTER"
    broker.resume()
    one.lab.network.settle()
    assert role_of(one) == "SLAVE"
    assert len(one.controller.of(BEAT)) == beats + 1


# -- the set ----------------------------------------------------------------------------------


def test_change_of_the_set_is_reported_and_its_answer_taken(one: ControlledBroker) -> None:
    one.start()
    one.replication.on_set_should_change(frozenset({1, 2}))
    one.lab.network.settle()
    (request,) = one.controller.of(ALTER)
    assert (request.ext_fields["masterBrokerId"], request.ext_fields["masterEpoch"]) == ("1", "1")
    assert SyncStateSet.decode(request.body) == SyncStateSet(
        sync_state_set=[1, 2], sync_state_set_epoch=1
    )
    assert one.replication.calls[-1] == ("set", [1, 2], 2)


def test_lost_answer_is_made_up_for_by_the_next_poll(one: ControlledBroker) -> None:
    one.start()
    answer = one.controller.answer

    def lose(request: RemotingCommand) -> RemotingCommand | None:
        made = answer(request)
        return None if request.code == ALTER else made

    one.controller.answer = lose
    one.replication.on_set_should_change(frozenset({1, 2}))
    one.lab.network.settle()
    assert ("set", [1, 2], 2) not in one.replication.calls
    one.pass_time(5_000)
    assert ("set", [1, 2], 2) in one.replication.calls


def test_set_is_looked_at_every_five_seconds(one: ControlledBroker) -> None:
    one.start()
    del one.replication.calls[:]
    one.pass_time(18_000)
    assert one.replication.calls.count(("check",)) == 4


# -- hostile controllers ----------------------------------------------------------------------


@pytest.mark.parametrize("code", [LEADER, NEXT_ID, APPLY, REGISTER, ELECT, INFO, ALTER])
@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ({"masterEpoch": "x", "nextBrokerId": "x", "isLeader": "x"}, b""),
        ({"masterEpoch": "9" * 30, "nextBrokerId": "-1"}, b"\xff"),
        ({"masterBrokerId": "1", "masterAddress": "../x", "masterEpoch": "9"}, b"[1,2"),
        ({"controllerLeaderAddress": "no address"}, b'{"syncStateSet":["x"]}'),
        ({}, b'{"syncStateSet":[' + b",".join([b"1"] * 2_000) + b"]}"),
    ],
)
def test_nonsense_of_a_controller_is_no_bug(
    one: ControlledBroker, code: int, fields: dict[str, str], body: bytes
) -> None:
    answer = one.controller.answer
    one.controller.answer = lambda request: (
        RemotingCommand(0, ext_fields=dict(fields), body=body)
        if request.code == code
        else answer(request)
    )
    one.start()
    if one.broker.replicas is not None and code == ALTER:
        one.replication.on_set_should_change(frozenset({1, 2}))
    one.pass_time(30_000)
    assert one.lab.journal.find(HandlerFailed) == []


def test_role_pushed_before_the_broker_has_an_id_is_passed_over(one: ControlledBroker) -> None:
    one.controller.refuse[NEXT_ID] = None
    broker = one.start()
    one.controller.elect(1)
    one.notify()
    assert broker.role.fenced


def test_epochs_are_refused_without_a_controller(one: ControlledBroker) -> None:
    one.config.enable_controller_mode = False
    broker = one.start()
    assert broker.replicas is None
    answer = one.lab.peer(broker.addr).ask(RequestCode5.GET_BROKER_EPOCH_CACHE)
    assert (answer.code, answer.remark) == (1, "this request only for controllerMode ")
    one.controller.elect(1)
    one.notify()
    assert broker.role.name == "ASYNC_MASTER"
