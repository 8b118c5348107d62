"""Results of sends to a master with slaves, to the millisecond."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.broker.seeding import seed
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.transaction import EndTransactionRequestHeader
from fakemq.protocol.layout.codecs import build_batch_member
from fakemq.protocol.sysflag import MessageSysFlag
from tests.support.clients import pull
from tests.support.replication import NO_SLAVE, NO_WAIT, OK, SYNC, TIMEOUT, Replicated, code

# -- statuses -------------------------------------------------------------------------------------


def test_send_succeeds_at_once_when_a_slave_is_connected() -> None:
    pair = Replicated(role=SYNC)
    assert [code(pair.send(b"x")) for _ in range(5)] == [OK] * 5
    assert pair.slave.store.max_offset_in_queue("orders", 0) == 5
    pair.assert_same()


def test_missing_slave_is_reported_at_once_and_the_message_stored() -> None:
    pair = Replicated(role=SYNC, slaves=0)
    answer = pair.send()
    assert code(answer) is NO_SLAVE
    assert answer.response is not None
    assert answer.response.ext_fields["queueOffset"] == "0"
    assert pair.master.store.max_offset_in_queue("orders", 0) == 1


def test_paused_slave_is_waited_for_until_it_is_disconnected() -> None:
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


def test_slave_too_far_behind_counts_as_missing() -> None:
    pair = Replicated(role=SYNC, config={"haSlaveFallbehindMax": 1000})
    pair.slave.pause()
    answers = [pair.send() for _ in range(10)]
    pair.core.advance(10_000)
    codes = [code(answer) for answer in answers]
    assert codes == [TIMEOUT] * codes.count(TIMEOUT) + [NO_SLAVE] * codes.count(NO_SLAVE)
    behind = pair.master.store.max_phy_offset - pair.ha.push2_slave_max_offset
    assert 1 < codes.count(TIMEOUT) < 10
    assert behind >= 1000


def test_send_without_wait_does_not_wait_for_a_slave() -> None:
    pair = Replicated(role=SYNC)
    pair.slave.pause()
    assert code(pair.send(properties=NO_WAIT)) is OK
    assert code(Replicated(role=SYNC, slaves=0).send(properties=NO_WAIT)) is OK


def test_seeding_needs_no_slave() -> None:
    pair = Replicated(role=SYNC)
    pair.kill(pair.slave)
    seed(pair.master, "orders", 0, b"x")
    assert pair.master.store.max_offset_in_queue("orders", 0) == 1


def test_reset_ends_waits() -> None:
    pair = Replicated(role=SYNC)
    pair.slave.pause()
    answer = pair.send()
    pair.core.network.settle()
    assert not answer.over
    pair.core.reset()
    assert code(answer) is TIMEOUT


def test_one_of_two_slaves_is_enough() -> None:
    trio = Replicated(role=SYNC, slaves=2)
    trio.slaves[0].pause()
    assert code(trio.send()) is OK
    trio.slaves[0].resume()
    trio.core.network.settle()
    trio.assert_same()


def test_batch_and_half_message_wait_too() -> None:
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


def test_commit_waits_before_its_op_is_written() -> None:
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
def test_last_result_is_that_of_the_slave(
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


def test_changed_role_is_effective_at_once() -> None:
    pair = Replicated(slaves=0)
    assert code(pair.send()) is OK
    body = b"brokerRole=SYNC_MASTER\n"
    assert pair.producer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=body).code == OK
    assert code(pair.send()) is NO_SLAVE


# -- an asynchronous master -----------------------------------------------------------------------


def test_asynchronous_master_transfers_at_its_looks() -> None:
    pair = Replicated()
    before = pair.slave.store.max_phy_offset
    assert code(pair.send()) is OK
    assert pair.slave.store.max_phy_offset == before
    pair.core.advance(100)
    pair.assert_same()


def test_messages_without_a_slave_are_lost_with_the_master_and_counted() -> None:
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
