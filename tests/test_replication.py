"""Masters and slaves in one cluster: what senders and consumers see, to the millisecond."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.broker.broker import Broker
from fakemq.changes import reconfigured
from fakemq.errors import ConfigError
from fakemq.events import Warned
from fakemq.ha.events import ReplicationWaited
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.transaction import EndTransactionRequestHeader
from fakemq.protocol.layout.twins import SLAVE_ACK, build_batch_member
from fakemq.protocol.sysflag import MessageSysFlag, PullSysFlag
from tests.support.clients import long_pull, pull, pull_header
from tests.support.echo import Echo
from tests.support.peer import Peer
from tests.support.replication import SMALL, Replicated, code, same_log

OK, NO_SLAVE, TIMEOUT = (
    *(ResponseCode.SUCCESS, ResponseCode.SLAVE_NOT_AVAILABLE),
    ResponseCode.FLUSH_SLAVE_TIMEOUT,
)
SYNC, ASYNC = "SYNC_MASTER", "ASYNC_MASTER"
NO_WAIT = "WAIT\x01false"


# -- statuses ---------------------------------------------------------------------------------


def test_a_slave_that_is_there_makes_a_send_safe_at_once() -> None:
    pair = Replicated(role=SYNC)
    assert [code(pair.send(b"x")) for _ in range(5)] == [OK] * 5
    assert pair.slave.store.max_offset_in_queue("orders", 0) == 5
    pair.assert_same()


def test_no_slave_is_said_at_once_and_the_message_is_there() -> None:
    pair = Replicated(role=SYNC, slaves=0)
    answer = pair.send()
    assert code(answer) is NO_SLAVE
    assert answer.response is not None
    assert answer.response.ext_fields["queueOffset"] == "0"
    assert pair.master.store.max_offset_in_queue("orders", 0) == 1


def test_a_paused_slave_is_waited_for_until_it_is_put_out() -> None:
    pair = Replicated(role=SYNC)
    assert code(pair.send()) is OK
    pair.slave.pause()
    answer = pair.send()
    pair.core.advance(2_999)
    assert not answer.over
    pair.core.advance(1)
    assert code(answer) is TIMEOUT
    pair.core.advance(17_000)
    assert pair.ha.connections
    pair.core.advance(1)
    assert not pair.ha.connections
    assert code(pair.send()) is NO_SLAVE
    pair.slave.resume()
    pair.core.network.settle()
    # It connects at once, and reports 5 s later: that is longer than anybody waits.
    pair.core.advance(0)
    assert len(pair.ha.connections) == 1
    answer = pair.send()
    pair.core.advance(3_000)
    assert code(answer) is TIMEOUT
    pair.core.advance(2_001)
    assert code(pair.send()) is OK
    pair.assert_same()


def test_a_slave_that_is_too_far_behind() -> None:
    pair = Replicated(role=SYNC, config={"haSlaveFallbehindMax": 1000})
    pair.slave.pause()
    answers = [pair.send() for _ in range(10)]
    pair.core.advance(10_000)
    codes = [code(answer) for answer in answers]
    assert codes == [TIMEOUT] * codes.count(TIMEOUT) + [NO_SLAVE] * codes.count(NO_SLAVE)
    behind = pair.master.store.max_phy_offset - pair.ha.push2_slave_max_offset
    assert 1 < codes.count(TIMEOUT) < 10
    assert behind >= 1000


def test_who_says_so_does_not_wait() -> None:
    pair = Replicated(role=SYNC)
    pair.slave.pause()
    assert code(pair.send(properties=NO_WAIT)) is OK
    assert code(Replicated(role=SYNC, slaves=0).send(properties=NO_WAIT)) is OK


def test_one_of_two_slaves_is_enough() -> None:
    trio = Replicated(role=SYNC, slaves=2)
    trio.slaves[0].pause()
    assert code(trio.send()) is OK
    trio.slaves[0].resume()
    trio.core.network.settle()
    trio.assert_same()


def test_a_batch_and_a_half_message_wait_too() -> None:
    pair = Replicated(role=SYNC)
    pair.slave.pause()
    half = pair.send(properties="TRAN_MSG\x01true\x02PGROUP\x01producers\x02WAIT\x01true")
    assert not half.over
    pair.core.advance(3_000)
    assert code(half) is TIMEOUT
    batch = pair.send(build_batch_member(0, 0, 0, b"x", b"KEYS\x01k"), batch=True)
    assert not batch.over
    pair.slave.resume()
    pair.core.network.settle()
    assert code(batch) is OK


def test_a_commit_waits_before_its_op_is_written() -> None:
    pair = Replicated(role=SYNC)
    half = pair.send(properties="TRAN_MSG\x01true\x02PGROUP\x01producers\x02WAIT\x01true").response
    assert half is not None
    pair.slave.pause()
    commit = pair.producer.send(
        RequestCode.END_TRANSACTION,
        EndTransactionRequestHeader(
            producer_group="producers",
            tran_state_table_offset=0,
            commit_log_offset=int(half.ext_fields["msgId"][-16:], 16),
            commit_or_rollback=MessageSysFlag.TRANSACTION_COMMIT_TYPE,
            from_transaction_check=False,
            msg_id="",
        ),
        timeout_ms=60_000,
    )
    store = pair.master.store
    assert not commit.over
    assert store.max_offset_in_queue("orders", 0) == 1
    assert store.max_offset_in_queue("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0) == 0
    pair.core.advance(3_000)
    assert code(commit) is OK
    assert store.max_offset_in_queue("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0) == 1


@pytest.mark.parametrize(
    ("stalled", "paused", "expected"),
    [
        (False, False, OK),
        (True, False, ResponseCode.FLUSH_DISK_TIMEOUT),
        (False, True, TIMEOUT),
        (True, True, TIMEOUT),
    ],
)
def test_the_slave_has_the_last_word(
    tmp_path: Path, stalled: bool, paused: bool, expected: ResponseCode
) -> None:
    pair = Replicated(role=SYNC, flush="SYNC_FLUSH", store=str(tmp_path))
    disk = pair.master.store.disk
    assert disk is not None
    disk.flush.stalled = stalled
    if paused:
        pair.slave.pause()
    answer = pair.send()
    pair.core.advance(5_000)
    assert code(answer) is expected
    pair.core.stop()


def test_the_role_counts_from_the_moment_it_is_changed() -> None:
    pair = Replicated(slaves=0)
    assert code(pair.send()) is OK
    body = b"brokerRole=SYNC_MASTER\n"
    assert pair.producer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=body).code == OK
    assert code(pair.send()) is NO_SLAVE


# -- an asynchronous master -------------------------------------------------------------------


def test_an_asynchronous_master_sends_when_it_looks() -> None:
    pair = Replicated()
    before = pair.slave.store.max_phy_offset
    assert code(pair.send()) is OK
    assert pair.slave.store.max_phy_offset == before
    pair.core.advance(100)
    pair.assert_same()


def test_what_no_slave_has_is_lost_with_its_master_and_counted() -> None:
    pair = Replicated()
    for _ in range(3):
        pair.send()
    pair.core.advance(100)
    pair.send()
    pair.kill(pair.master)
    pair.core.advance(150_000)
    end, copied = pair.offsets()
    unit = pair.master.store.queue_unit("orders", 0, 3)
    assert unit is not None
    assert (copied, end) == (unit[0], unit[0] + unit[1])
    peer = pair.peer(pair.slave)
    found = pull(peer, 0)
    assert (found.code, found.ext_fields["nextBeginOffset"]) == (OK, "3")


# -- the way of the bytes ---------------------------------------------------------------------


def test_many_files_arrive_as_they_are() -> None:
    pair = Replicated(role=SYNC, config=SMALL)
    for number in range(60):
        assert code(pair.send(b"x" * (number * 37 % 900), queue_id=number % 2)) is OK
    pair.assert_same()
    assert pair.master.store.max_phy_offset > 5 * 4096
    keys = pair.slave.store.query_message(
        "orders", "7F0000010000000000000000000000", 64, 0, 1 << 60
    )
    assert len(keys.buffers) == 60


def test_a_slave_that_starts_late_begins_with_the_last_file() -> None:
    pair = Replicated(config=SMALL)
    pair.stop(pair.slave)
    pair.slave.store.reset()
    for _ in range(40):
        pair.send(b"x" * 500)
    pair.start(pair.slave)
    pair.core.advance(9_999)
    assert pair.slave.store.max_phy_offset == 0
    pair.core.advance(10)
    pair.assert_same()
    end = pair.master.store.max_phy_offset
    assert pair.slave.store.min_phy_offset == end - end % 4096 > 0
    queue = pair.slave.store.consume_queue("orders", 0)
    assert queue is not None
    assert 0 < queue.min_offset < queue.max_offset == 40


def test_a_slave_that_was_away_goes_on_where_it_stopped() -> None:
    pair = Replicated(config=SMALL)
    pair.send()
    pair.core.advance(100)
    pair.kill(pair.slave)
    for _ in range(40):
        pair.send(b"x" * 500)
    pair.start(pair.slave)
    pair.core.advance(10_010)
    assert pair.slave.store.min_phy_offset == 0
    pair.assert_same()


def test_a_large_backlog_crosses_memory_in_pieces() -> None:
    pair = Replicated()
    pair.slave.pause()
    for _ in range(100):
        pair.send(b"x" * 40_000)
    pair.core.advance(1_000)
    pair.slave.resume()
    pair.core.advance(0)
    pair.assert_same()


def test_a_master_that_comes_back_is_found_again() -> None:
    pair = Replicated(role=SYNC)
    pair.stop(pair.master)
    pair.core.advance(7_000)
    pair.start(pair.master)
    pair.core.advance(3_000)
    assert len(pair.ha.connections) == 1
    pair.core.advance(5_001)
    assert code(pair.send()) is OK


def test_a_slave_on_a_disk_comes_back_from_it(tmp_path: Path) -> None:
    pair = Replicated(role=SYNC, store=str(tmp_path), config=SMALL)
    for _ in range(20):
        assert code(pair.send(b"x" * 500)) is OK
    pair.kill(pair.slave)
    for _ in range(20):
        assert code(pair.send(b"x" * 500)) is NO_SLAVE
    pair.start(pair.slave)
    pair.core.advance(10_010)
    pair.assert_same()
    pair.core.stop()


# -- bad peers --------------------------------------------------------------------------------


def slave_of(pair: Replicated, report: bytes) -> Echo:
    """Somebody who connects to the master's HA port and says this."""
    end = Echo(answers=False)
    assert pair.core.network.connect(pair.master.ha_addr, "stranger", end.on) is end
    end.link.write(report)
    pair.core.network.settle()
    return end


@pytest.mark.parametrize(
    "report",
    [SLAVE_ACK.pack(1 << 60), SLAVE_ACK.pack(-2), b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 999],
)
def test_a_first_report_that_cannot_be_frees_nobody(report: bytes) -> None:
    pair = Replicated(role=SYNC, slaves=0)
    end = slave_of(pair, report)
    assert end.lost == ["closed by the peer"]
    assert code(pair.send()) is NO_SLAVE
    (warned,) = pair.core.journal.find(Warned)
    assert "closed the HA connection of" in warned.text


def test_java_believes_it_and_so_does_a_master_that_is_told_to() -> None:
    pair = Replicated(role=SYNC, slaves=0)
    pair.ha.believes_reports = True
    slave_of(pair, SLAVE_ACK.pack(1 << 60))
    assert code(pair.send()) is OK


def test_who_connects_and_says_nothing_counts_for_twenty_seconds() -> None:
    pair = Replicated(role=SYNC, slaves=0)
    end = slave_of(pair, b"")
    answer = pair.send()
    pair.core.advance(3_000)
    assert code(answer) is TIMEOUT
    pair.core.advance(17_001)
    assert (end.heard, len(end.lost)) == (b"", 1)
    assert code(pair.send()) is NO_SLAVE


def test_heartbeats_and_the_first_of_them() -> None:
    pair = Replicated(slaves=0)
    pair.send()
    end = slave_of(pair, b"")
    pair.core.advance(5_001)
    end.link.write(SLAVE_ACK.pack(pair.offsets()[0]))
    pair.core.network.settle()
    beat = SLAVE_ACK.pack(pair.offsets()[0]) + bytes(4)
    assert end.heard == beat
    pair.core.advance(5_000)
    assert end.heard == beat
    pair.core.advance(1)
    assert end.heard == beat * 2


@pytest.mark.parametrize(
    ("master_bytes", "slave_bytes", "why"),
    [
        (8192, 4096, "mappedFileSizeCommitLog must be that of the master"),
        (4096, 8192, "a file's end, where files have 8192 bytes"),
    ],
)
def test_files_of_other_sizes_than_the_masters_do_not_go_unnoticed(
    master_bytes: int, slave_bytes: int, why: str
) -> None:
    key = "mappedFileSizeCommitLog"
    pair = Replicated(slaves=1, config=[{key: master_bytes}, {key: slave_bytes}])
    for _ in range(20):
        pair.send(b"x" * 500)
    pair.core.advance(11_000)
    texts = [warned.text for warned in pair.core.journal.find(Warned)]
    assert any(why in text for text in texts)


# -- consumers at a slave ---------------------------------------------------------------------


def test_a_slave_is_read_and_takes_nothing() -> None:
    pair = Replicated(role=SYNC)
    pair.send()
    header = pull_header(sys_flag=PullSysFlag.SUBSCRIPTION | PullSysFlag.COMMIT_OFFSET)
    assert pair.ask(pair.slave, RequestCode.PULL_MESSAGE, header).code == OK
    assert pair.slave.offsets.query("billing", "orders", 0) == -1
    pair.producer = pair.peer(pair.slave)
    answer = pair.send()
    assert code(answer) is ResponseCode.SERVICE_NOT_AVAILABLE


def test_a_held_pull_at_a_slave_waits_for_the_look() -> None:
    pair = Replicated(role=SYNC)
    peer = pair.peer(pair.slave)
    answer = long_pull(peer, 0)
    assert code(pair.send()) is OK
    pair.core.advance(4_000)
    assert not answer.over
    pair.core.advance(1_000)
    assert code(answer) is OK


@pytest.mark.parametrize(("slave_read", "suggested"), [(False, "0"), (True, "1")])
def test_who_is_far_behind_is_sent_to_a_slave(slave_read: bool, suggested: str) -> None:
    config = {"slaveReadEnable": slave_read}
    pair = Replicated(ram_size=2000, config=config)
    for _ in range(20):
        pair.send()
    found = pull(pair.peer(pair.master), 0)
    assert found.ext_fields["suggestWhichBrokerId"] == suggested
    found = pull(pair.peer(pair.master), 19)
    assert found.ext_fields["suggestWhichBrokerId"] == "0"


# -- tables -----------------------------------------------------------------------------------


def test_tables_follow_every_ten_seconds() -> None:
    pair = Replicated()
    pair.master.create_topic("later", 3)
    pair.master.offsets.commit("billing", "orders", 0, 7)
    pair.core.network.settle()
    pair.core.advance(2_999)
    assert pair.slave.topics.select("later") is None
    pair.core.advance(1)
    assert pair.slave.topics.select("later") == pair.master.topics.select("later")
    assert pair.slave.topics.data_version == pair.master.topics.data_version
    assert pair.slave.offsets.query("billing", "orders", 0) == 7
    pair.master.groups.find("late-group")
    pair.slave.offsets.commit("other", "orders", 1, 1)
    pair.core.advance(10_000)
    assert pair.slave.groups.snapshot() == pair.master.groups.snapshot()
    assert pair.slave.offsets.query("other", "orders", 1) == 1


def test_delay_offsets_are_kept_as_they_came(tmp_path: Path) -> None:
    pair = Replicated(store=str(tmp_path))
    pair.send(properties="DELAY\x011")
    pair.core.advance(13_000)
    path = f"{tmp_path}/broker-a-1/config/delayOffset.json"
    with open(path) as file:
        assert file.read() == '{"offsetTable":{1:1}}'
    pair.core.stop()


def test_a_slave_of_a_dead_master_asks_nobody() -> None:
    pair = Replicated()
    pair.kill(pair.master)
    pair.core.advance(300_000)
    assert pair.slave.registration.master_addr is None


# -- routes and roles -------------------------------------------------------------------------


def brokers_in_route(pair: Replicated) -> dict[int, str]:
    core = pair.core
    peer = Peer(core.network, core.clock, core.journal, core.namesrv_addrs[0])
    answer = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields={"topic": "orders"})
    (data,) = TopicRouteData.decode(answer.body).broker_datas
    return {int(number): addr for number, addr in data.broker_addrs.items()}


def test_the_route_knows_them_all() -> None:
    trio = Replicated(slaves=2)
    assert brokers_in_route(trio) == {
        0: trio.master.addr,
        1: trio.slaves[0].addr,
        2: trio.slaves[1].addr,
    }
    trio.kill(trio.master)
    trio.core.advance(1)
    assert sorted(brokers_in_route(trio)) == [1, 2]


def restart(pair: Replicated, broker: Broker, **config: str | int) -> None:
    """Start a broker, once it is down, with another config."""
    changed = reconfigured(broker.config, config)
    pair.stop(broker)
    broker.config.restore(changed)
    pair.start(broker)


def test_promotion_and_demotion() -> None:
    pair = Replicated(role=SYNC)
    for _ in range(3):
        pair.send(properties="DELAY\x015\x02WAIT\x01true")
    pair.core.advance(13_000)
    pair.kill(pair.master)
    restart(pair, pair.slave, brokerRole=ASYNC)
    assert pair.core.broker("broker-a") is pair.slave
    assert brokers_in_route(pair) == {0: pair.slave.addr}
    pair.producer = pair.peer(pair.slave)
    assert code(pair.send()) is OK
    pair.core.advance(60_000)  # what was delayed is delivered by who is the master now
    assert pair.slave.store.max_offset_in_queue("orders", 0) == 4
    restart(pair, pair.master, brokerRole="SLAVE", brokerId=1)
    pair.core.advance(15_000)
    assert same_log(pair.slave.store, pair.master.store)
    assert pair.master.store.max_phy_offset == pair.slave.store.max_phy_offset


def test_roles_decide_ids() -> None:
    pair = Replicated()
    with pytest.raises(ConfigError, match="Slave's brokerId must be > 0"):
        reconfigured(pair.master.config, {"brokerRole": "SLAVE"})
    assert reconfigured(pair.slave.config, {"brokerRole": SYNC}).broker_id == 0
    with pytest.raises(ConfigError, match="keeps its listen_port"):
        reconfigured(pair.slave.config, {"listenPort": 1})


# -- the cluster ------------------------------------------------------------------------------


def test_a_reset_leaves_slaves_in_step() -> None:
    pair = Replicated(role=SYNC)
    pair.send()
    pair.core.reset()
    assert pair.offsets() == [0, 0]
    pair.producer = pair.peer(pair.master)
    assert code(pair.send()) is OK
    pair.assert_same()


def test_a_pause_of_the_master_harms_nobody() -> None:
    pair = Replicated(role=SYNC)
    pair.master.pause()
    answer = pair.send()
    pair.core.advance(30_000)
    pair.master.resume()
    pair.core.network.settle()
    assert code(answer) is OK
    pair.core.advance(10_000)
    assert code(pair.send()) is OK
    assert [event.transferred for event in pair.core.journal.find(ReplicationWaited)] == [True] * 2
