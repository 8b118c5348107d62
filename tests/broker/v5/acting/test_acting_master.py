"""A slave that acts as master: when it does, what it does then, and what its master finds later."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fakemq
from fakemq.broker.broker import Broker
from fakemq.broker.v5.acting.service import ActingMasterService
from fakemq.broker.v5.slave_tables import SlaveTables
from fakemq.clock.slices import finished
from fakemq.events.core import BrokerOnline, HandlerFailed, MinBrokerChanged, NodeStopped, Warned
from fakemq.net.outbound import Outbound
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.offset import (
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.acting import (
    ExchangeHAInfoRequestHeader,
    NotifyMinBrokerIdChangeRequestHeader,
    ResetMasterFlushOffsetHeader,
)
from tests.support.broker_lab import broker5
from tests.support.clients import pull_header
from tests.support.replication import Replicated
from tests.support.slices import take_turns, work_in_turns

ACTING = {"enableSlaveActingMaster": "true", "totalReplicas": "3"}
TOPIC = "orders"
SYNC_MS = 1_000
"""After this each broker has asked which broker is in its group."""


def group(slaves: int = 2, **config: str) -> Replicated:
    return Replicated(reference="5.5.0", slaves=slaves, config=ACTING | config)


def acting(broker: Broker) -> ActingMasterService:
    found = broker5(broker).acting
    assert found is not None
    return found


def actors(made: Replicated) -> list[str]:
    """The slaves that act as master."""
    return [one.name for one in made.slaves if one.running and one.role.acts_as_master]


def route(made: Replicated) -> tuple[dict[int, str], int]:
    """The addresses in a topic's route, and the perm of its queues."""
    server = made.core.name_servers[0]
    found = server.routes.topic_route(TOPIC)
    assert found is not None
    finished(server.complete_route(TOPIC, found))
    return found.broker_datas[0].broker_addrs, found.queue_datas[0].perm


def delayed(made: Replicated, level: int) -> None:
    made.send(b"late", properties=f"UNIQ_KEY\x01late\x02DELAY\x01{level}\x02")
    made.core.network.settle()


# -- which slave acts ---------------------------------------------------------------------------


def test_slaves_do_not_act_while_the_master_lives() -> None:
    made = group()
    made.core.advance(60_000)
    assert made.master.role.has_duties
    assert not actors(made)
    assert route(made) == ({0: made.master.addr, 1: made.slaves[0].addr, 2: made.slaves[1].addr}, 6)
    assert not made.core.journal.find(MinBrokerChanged)


def test_lowest_slave_acts_after_a_kill_of_the_master() -> None:
    made = group()
    made.kill(made.master)
    assert actors(made) == ["broker-a-1"]
    assert route(made) == ({0: made.slaves[0].addr, 2: made.slaves[1].addr}, 4)


def test_next_slave_acts_after_the_lowest() -> None:
    made = group()
    made.kill(made.master)
    made.kill(made.slaves[0])
    assert actors(made) == ["broker-a-2"]
    assert route(made) == ({0: made.slaves[1].addr}, 4)


def test_slave_that_comes_back_acts_again() -> None:
    made = group()
    made.kill(made.master)
    made.kill(made.slaves[0])
    made.start(made.slaves[0])
    made.core.advance(SYNC_MS)  # at first it only knows that another one was the lowest
    assert actors(made) == ["broker-a-1"]


def test_without_notifications_brokers_ask_each_second() -> None:
    made = group()
    made.core.name_servers[0].config.notify_min_broker_id_changed = False  # type: ignore[attr-defined]
    made.kill(made.master)
    assert not actors(made)
    made.core.advance(SYNC_MS)
    assert actors(made) == ["broker-a-1"]


@pytest.mark.parametrize("old", ["true", "false"])
def test_silent_master_is_away_after_ten_seconds(old: str) -> None:
    made = group(compatibleWithOldNameSrv=old)
    made.core.advance(60_000)
    made.master.pause()
    made.core.advance(9_000)
    assert not actors(made)
    made.core.advance(7_000)
    assert actors(made) == ["broker-a-1"]


def test_change_is_in_the_journal_with_its_cause() -> None:
    made = group(slaves=1)
    made.kill(made.master)
    journal = made.core.journal
    changed = [entry for entry in journal if isinstance(entry.event, MinBrokerChanged)][-1]
    assert changed.event == MinBrokerChanged(
        node="broker-a-1",
        min_broker_id=1,
        min_broker_addr=made.slave.addr,
        acts_as_master=True,
    )
    assert isinstance(journal.cause_chain(changed)[-1].event, NodeStopped)


def test_plain_slave_does_not_act() -> None:
    made = Replicated(reference="5.5.0")
    made.kill(made.master)
    made.core.advance(60_000)
    assert not actors(made)
    assert broker5(made.slave).acting is None


# -- what it does -----------------------------------------------------------------------------


def test_acting_master_has_the_deadlines_of_a_master() -> None:
    made = group(slaves=1)
    delayed(made, 5)
    made.core.advance(5_000)
    made.kill(made.master)
    kinds = {one.kind for one in made.core.clock.timers() if one.owner == "broker-a-1"}
    assert {"delay_level_5", "txn_check"} <= kinds


def test_delayed_message_is_delivered_once_by_the_master_that_is_back() -> None:
    made = group(slaves=1)
    delayed(made, 5)
    made.core.advance(5_000)
    made.kill(made.master)
    made.core.advance(120_000)
    made.start(made.master)
    made.core.advance(5_000)
    bodies = [one.body for one in made.master.store.messages_in_queue(TOPIC, 0)]
    assert bodies == [b"late"]
    assert not actors(made)


def test_send_to_the_acting_master_is_not_available() -> None:
    made = group(slaves=1)
    made.kill(made.master)
    made.producer = made.peer(made.slave)
    answer = made.send(b"x").response
    assert answer is not None
    assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE


@pytest.mark.parametrize(
    ("enabled", "code"),
    [("false", ResponseCode.SYSTEM_BUSY), ("true", ResponseCode.SUCCESS)],
)
def test_acting_master_serves_pulls_with_slave_read_enable_alone(
    enabled: str, code: ResponseCode
) -> None:
    made = group(slaves=1, slaveReadEnable=enabled)
    made.send(b"first")
    made.core.advance(15_000)  # its slave has the message and the topics
    made.kill(made.master)
    assert actors(made) == ["broker-a-1"]
    header = pull_header(consumer_group="TOOLS_CONSUMER", topic=TOPIC)
    answer = made.ask(made.slave, RequestCode.PULL_MESSAGE, header)
    assert answer.code == code
    assert (b"first" in answer.body) is (enabled == "true")


# -- the master comes back --------------------------------------------------------------------


def test_master_takes_over_offsets_that_were_committed_meanwhile() -> None:
    made = group(slaves=1)
    made.kill(made.master)
    group_name = "TOOLS_CONSUMER"  # each broker has it
    commit = UpdateConsumerOffsetRequestHeader(
        consumer_group=group_name, topic=TOPIC, queue_id=0, commit_offset=3
    )
    assert made.ask(made.slave, RequestCode.UPDATE_CONSUMER_OFFSET, commit).code == 0
    made.start(made.master)
    query = QueryConsumerOffsetRequestHeader(consumer_group=group_name, topic=TOPIC, queue_id=0)
    found = made.ask(made.master, RequestCode.QUERY_CONSUMER_OFFSET, query)
    assert found.ext_fields["offset"] == "3"
    assert route(made) == ({0: made.master.addr, 1: made.slave.addr}, 6)
    assert not actors(made)


def test_slave_follows_the_master_that_is_back() -> None:
    made = group(slaves=1)
    made.kill(made.master)
    made.start(made.master)
    made.send(b"again")
    made.core.advance(6_000)  # the first report of a slave of 5.5.0
    made.assert_same()
    assert made.master.store.max_phy_offset > 0


def test_isolated_master_says_what_it_waits_for_and_tries_again() -> None:
    made = group(slaves=1)
    made.kill(made.master)
    made.slave.pause()
    made.start(made.master)
    made.core.advance(5_000)
    assert acting(made.master).isolated
    assert not made.master.role.has_duties
    text = made.core.journal.find(Warned)[-1].text
    assert text.startswith("isolated: 127.0.0.1:10931 of its group does not answer;")
    made.slave.resume()
    made.core.advance(5_000)
    assert not acting(made.master).isolated
    assert made.core.journal.find(BrokerOnline)[-1].node == "broker-a-0"


def test_error_while_the_master_takes_over_is_written_and_it_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = group(slaves=1)
    made.kill(made.master)
    take, broken = SlaveTables.take_timer_checkpoint, [OSError("the disk is full")]

    def take_checkpoint(tables: SlaveTables, data: bytes) -> None:
        if broken:
            raise broken.pop()
        take(tables, data)

    monkeypatch.setattr(SlaveTables, "take_timer_checkpoint", take_checkpoint)
    made.start(made.master)
    assert acting(made.master).isolated
    assert "the disk is full" in made.core.journal.find(HandlerFailed)[-1].error
    made.core.advance(1_000)
    assert not acting(made.master).isolated


def test_reset_ends_a_take_over_that_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    made = group(slaves=1)
    for number in range(5_000):
        made.slave.offsets.commit("billing", f"topic-{number}", 0, number)
    made.kill(made.master)
    work_in_turns(made.core.clock, monkeypatch)
    made.start(made.master)
    assert made.core.clock.slices.waiting
    online = made.core.journal.find(BrokerOnline)
    made.master.reset()
    take_turns(made.core.clock)
    assert made.master.offsets.is_empty
    assert made.core.journal.find(BrokerOnline) == online


def test_master_that_skips_registers_at_once() -> None:
    made = group(slaves=1, skipPreOnline="true")
    made.kill(made.master)
    made.slave.pause()
    made.start(made.master)
    assert not acting(made.master).isolated
    assert made.master.role.has_duties


def test_group_of_one_is_not_isolated() -> None:
    made = group(slaves=1, totalReplicas="1")
    assert not acting(made.master).isolated
    assert made.master.role.has_duties
    assert not made.core.journal.find(BrokerOnline)


def test_reset_ends_the_acting() -> None:
    made = group(slaves=1)
    made.kill(made.master)
    made.start(made.master)
    made.core.reset()
    assert not actors(made)
    assert made.master.role.has_duties
    made.kill(made.master)
    assert actors(made) == ["broker-a-1"]


# -- single requests --------------------------------------------------------------------------


def notified(made: Replicated, broker: Broker, lowest: int) -> int:
    header = NotifyMinBrokerIdChangeRequestHeader(min_broker_id=lowest, min_broker_addr="a:1")
    return made.ask(broker, RequestCode5.NOTIFY_MIN_BROKER_ID_CHANGE, header).code


def test_notification_of_the_lowest_is_not_believed() -> None:
    made = group(slaves=1)
    for broker in (made.master, made.slave):
        for lowest in (1, 0, 17):
            assert notified(made, broker, lowest) == 0
    assert not made.core.journal.find(MinBrokerChanged)
    assert not actors(made)


def test_many_notifications_of_the_lowest_have_one_request_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = group(slaves=1, compatibleWithOldNameSrv="false")
    asked: list[int] = []
    invoke = Outbound.invoke

    def count(outbound: Outbound, addr: str, command: RemotingCommand, *rest: Any) -> None:
        asked.append(command.code)
        invoke(outbound, addr, command, *rest)

    monkeypatch.setattr(Outbound, "invoke", count)
    made.core.name_servers[0].pause()
    for number in range(100):
        notified(made, made.slave, number % 2)
    assert asked == [RequestCode5.GET_BROKER_MEMBER_GROUP]
    made.core.name_servers[0].resume()
    made.core.network.settle()
    assert asked == 2 * [RequestCode5.GET_BROKER_MEMBER_GROUP]


def test_ha_info_is_what_a_master_says() -> None:
    made = group(slaves=1, syncMasterFlushOffsetWhenStartup="true")
    code = RequestCode5.EXCHANGE_BROKER_HA_INFO
    assert made.ask(made.master, code).ext_fields == {
        "masterHaAddress": made.master.ha_addr,
        "masterFlushOffset": "0",
        "masterAddress": made.master.addr,
    }
    assert made.ask(made.slave, code).ext_fields == {}
    said = ExchangeHAInfoRequestHeader(master_ha_address="127.0.0.1:1", master_flush_offset=17)
    assert made.ask(made.slave, code, said).code == 0
    assert broker5(made.slave).counting.master_flushed_offset == 17
    assert made.ask(made.master, code, said).code == 0


def test_flush_offset_of_a_master_is_shown_by_slaves() -> None:
    made = group(slaves=1)
    header = ResetMasterFlushOffsetHeader(master_flush_offset=23)
    for broker in (made.master, made.slave):
        assert made.ask(broker, RequestCode5.RESET_MASTER_FLUSH_OFFSET, header).code == 0
    status = json.loads(made.ask(made.slave, RequestCode5.GET_BROKER_HA_STATUS).body)
    assert status["haClientRuntimeInfo"]["masterFlushOffset"] == 23


# -- together with controllers ----------------------------------------------------------------


def test_slave_acts_until_a_controller_elects_it() -> None:
    config = ACTING | {"totalReplicas": "2"}
    with fakemq.Cluster(slaves=1, controllers=1, clock="frozen", config=config) as mq:
        mq.clock.advance("5s")
        controller = next(iter(mq.controllers))
        controller.kill()
        mq.broker("broker-a@1").kill()
        mq.clock.advance("2s")
        assert [one.acts_as_master for one in mq.journal.find(MinBrokerChanged)] == [True]
        controller.restart()
        mq.clock.advance("30s")
        assert mq.group_of("broker-a").master == "broker-a@2"
        mq.reset()
        assert mq.group_of("broker-a").master == "broker-a@1"
