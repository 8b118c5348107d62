"""The way of the bytes from master to slave, and peers that do not keep to the protocol."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.requests import Sink, frames, send_fields
from fakemq.clock.slices import finished
from fakemq.events import Warned
from fakemq.events.replication import Replicated as LogReplicated
from fakemq.events.replication import ReplicationWaited, ReportBelieved, SlaveReported, Transferred
from fakemq.events.store import UnsyncedLost
from fakemq.faults.plan import ALWAYS, ActiveFault, Scope
from fakemq.faults.points import BELIEVE_REPORTS
from fakemq.ha.link import WINDOW_BYTES
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.layout.codecs import SLAVE_ACK, TRANSFER_HEADER
from tests.support.echo import Echo
from tests.support.replication import (
    NO_SLAVE,
    OK,
    SMALL,
    SYNC,
    TIMEOUT,
    Replicated,
    code,
    log_bytes,
)

# -- the way of the bytes -------------------------------------------------------------------------


def test_many_files_arrive_unchanged() -> None:
    pair = Replicated(role=SYNC, config=SMALL)
    for number in range(60):
        assert code(pair.send(b"x" * (number * 37 % 900), queue_id=number % 2)) is OK
    pair.assert_same()
    assert pair.master.store.max_phy_offset > 5 * 4096
    keys = finished(
        pair.slave.store.query_message("orders", "7F0000010000000000000000000000", 64, 0, 1 << 60)
    )
    assert len(keys.buffers) == 60


def test_late_slave_begins_with_the_last_file() -> None:
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


def test_skipped_files_do_not_count_as_in_flight() -> None:
    pair = Replicated(config={"mappedFileSizeCommitLog": 1 << 16})
    pair.stop(pair.slave)
    pair.slave.store.reset()
    for _ in range(90):
        pair.send(b"x" * 50_000)
    assert pair.master.store.max_phy_offset > WINDOW_BYTES
    pair.start(pair.slave)
    pair.core.advance(10_010)
    pair.assert_same()


def test_absent_slave_continues_where_it_stopped() -> None:
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


def test_messages_stored_together_are_one_transfer() -> None:
    pair = Replicated(role=SYNC, topics={"Bench": 8})
    session = pair.master.accept(Sink())
    fields = [send_fields(number) for number in range(8)]
    (together,) = frames(RequestCode.SEND_MESSAGE_V2, fields, SerializeType.ROCKETMQ, b"x", batch=8)
    session.data_received(together)
    pair.core.network.settle()
    journal = pair.core.journal
    assert [len(journal.find(kind)) for kind in (Transferred, LogReplicated)] == [1, 1]
    assert [one.transferred for one in journal.find(ReplicationWaited)] == [True] * 8
    pair.assert_same()


def test_large_backlog_is_transferred_in_pieces() -> None:
    pair = Replicated()
    pair.slave.pause()
    for _ in range(200):
        pair.send(b"x" * 40_000)
    pair.core.advance(1_000)
    sent = pair.core.journal.find(Transferred)[-1].end_offset
    assert 4 << 20 <= sent < 6 << 20  # as much as sockets hold
    pair.slave.resume()
    pair.core.advance(0)
    pair.assert_same()


def test_stopped_master_has_sent_its_slaves_everything() -> None:
    pair = Replicated()
    assert code(pair.send()) is OK
    pair.stop(pair.master)
    pair.assert_same()


def test_returning_master_is_found_again() -> None:
    pair = Replicated(role=SYNC)
    pair.stop(pair.master)
    pair.core.advance(7_000)
    pair.start(pair.master)
    pair.core.advance(3_000)
    assert len(pair.ha.connections) == 1
    pair.core.advance(5_001)
    assert code(pair.send()) is OK


def test_slave_on_disk_restarts_from_it(tmp_path: Path) -> None:
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


def test_flushed_data_of_a_slave_survive_a_power_failure(tmp_path: Path) -> None:
    pair = Replicated(role=SYNC, store=str(tmp_path), config=SMALL)
    for _ in range(20):
        assert code(pair.send(b"x" * 500)) is OK
    pair.core.advance(12_000)
    assert code(pair.send(b"x" * 500)) is OK
    unit = pair.slave.store.queue_unit("orders", 0, 20)
    assert unit is not None
    pair.slave.kill(lose_unsynced=True)
    pair.core.network.settle()
    (lost,) = pair.core.journal.find(UnsyncedLost)
    assert lost.log_offset <= unit[0] < lost.log_offset + lost.log_bytes
    assert unit[0] - lost.log_offset < 4096  # a flush is of what was there, whole files or not
    pair.start(pair.slave)
    pair.core.advance(10_010)
    assert pair.slave.store.min_phy_offset == 0
    pair.assert_same()
    pair.core.stop()


def test_slaves_delete_old_files_by_themselves() -> None:
    hours = ";".join(f"{hour:02}" for hour in range(24))
    pair = Replicated(config=SMALL | {"fileReservedTime": 1, "deleteWhen": hours})
    for _ in range(40):
        pair.send(b"x" * 500)
    pair.core.advance(100)
    assert pair.slave.store.min_phy_offset == 0
    pair.core.advance(3_700_000)
    end = pair.master.store.max_phy_offset
    for broker in (pair.master, pair.slave):
        assert broker.store.min_phy_offset == end - end % 4096 > 0
    pair.assert_same()


def test_slave_stops_with_an_error_when_its_queues_are_unwritable(tmp_path: Path) -> None:
    pair = Replicated(role=SYNC, store=str(tmp_path))
    assert code(pair.send()) is OK
    shutil.rmtree(tmp_path / "broker-a-1/consumequeue/orders")
    (tmp_path / "broker-a-1/consumequeue/orders").touch()
    assert code(pair.send(queue_id=1)) is OK  # its log has it
    pair.send(queue_id=1)
    refused, warned = pair.core.journal.find(Warned)
    assert refused.text.endswith("Not a directory: messages are refused until the next start")
    assert warned.text.startswith("closed the HA connection of 127.0.0.1:10912: no room for ")
    assert "consumequeue/orders/1" in warned.text
    assert pair.slave.store.max_offset_in_queue("orders", 0) == 1
    pair.core.stop()


# -- bad peers ------------------------------------------------------------------------------------


def slave_of(pair: Replicated, report: bytes) -> Echo:
    """A peer that connects to the master's HA port and sends this."""
    end = Echo(answers=False)
    assert pair.core.network.connect(pair.master.ha_addr, "stranger", end.on) is end
    end.link.write(report)
    pair.core.network.settle()
    return end


@pytest.mark.parametrize(
    "report",
    [SLAVE_ACK.pack(1 << 60), SLAVE_ACK.pack(-2), b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 999],
)
def test_invalid_first_report_releases_no_wait(report: bytes) -> None:
    pair = Replicated(role=SYNC, slaves=0)
    end = slave_of(pair, report)
    assert end.lost == ["closed by the peer"]
    assert code(pair.send()) is NO_SLAVE
    (warned,) = pair.core.journal.find(Warned)
    assert "closed the HA connection of" in warned.text


def believe(pair: Replicated) -> ActiveFault[None]:
    scope = Scope(node=pair.master.name)
    return pair.core.faults.place(BELIEVE_REPORTS, None, "believe", scope, ALWAYS)


def test_invalid_report_is_believed_by_java_and_on_request() -> None:
    pair = Replicated(role=SYNC, slaves=0)
    believe(pair)
    slave_of(pair, SLAVE_ACK.pack(0))
    assert pair.core.journal.find(ReportBelieved) == []
    slave_of(pair, SLAVE_ACK.pack(1 << 60))
    (believed,) = pair.core.journal.find(ReportBelieved)
    assert (believed.node, believed.offset, believed.end_offset) == ("broker-a-0", 1 << 60, 0)
    assert code(pair.send()) is OK


def test_believing_survives_restart_and_reset() -> None:
    pair = Replicated(role=SYNC, slaves=0)
    believe(pair)
    pair.kill(pair.master)
    pair.start(pair.master)
    pair.core.reset()
    assert code(pair.send()) is NO_SLAVE
    slave_of(pair, SLAVE_ACK.pack(1 << 60))
    assert code(pair.send()) is OK


def test_open_connection_is_not_believed_after_removal() -> None:
    pair = Replicated(role=SYNC, slaves=0)
    fault = believe(pair)
    silent = slave_of(pair, b"")
    fault.remove()
    silent.link.write(SLAVE_ACK.pack(1 << 60))
    pair.core.network.settle()
    assert silent.lost == ["closed by the peer"]
    assert (fault.fired, code(pair.send())) == (0, NO_SLAVE)


def test_silent_connection_counts_for_twenty_seconds() -> None:
    pair = Replicated(role=SYNC, slaves=0)
    end = slave_of(pair, b"")
    answer = pair.send()
    pair.core.advance(3_000)
    assert code(answer) is TIMEOUT
    pair.core.advance(17_001)
    assert (end.received, len(end.lost)) == (b"", 1)
    assert code(pair.send()) is NO_SLAVE


def test_heartbeats_are_sent() -> None:
    pair = Replicated(slaves=0)
    pair.send()
    end = slave_of(pair, b"")
    pair.core.advance(5_001)
    end.link.write(SLAVE_ACK.pack(pair.offsets()[0]))
    pair.core.network.settle()
    beat = SLAVE_ACK.pack(pair.offsets()[0]) + bytes(4)
    assert end.received == beat
    pair.core.advance(5_000)
    assert end.received == beat
    pair.core.advance(1)
    assert end.received == beat * 2


def test_data_before_an_invalid_transfer_are_reported() -> None:
    pair = Replicated()
    pair.send()
    size_bytes = pair.master.store.max_phy_offset
    client = pair.slave.replication().client
    assert client is not None
    assert client.end is not None
    good = TRANSFER_HEADER.pack(0, size_bytes) + log_bytes(pair.master.store, 0, size_bytes)
    client.end.data_received(good + TRANSFER_HEADER.pack(7, 0))
    pair.core.network.settle()
    assert pair.core.journal.find(SlaveReported)[-1].offset == size_bytes
    assert pair.ha.connections == []


@pytest.mark.parametrize(
    ("master_bytes", "slave_bytes", "why"),
    [
        (8192, 4096, "mappedFileSizeCommitLog must be that of the master"),
        (4096, 8192, "a file's end, where files have 8192 bytes"),
    ],
)
def test_different_file_sizes_are_reported(master_bytes: int, slave_bytes: int, why: str) -> None:
    key = "mappedFileSizeCommitLog"
    pair = Replicated(slaves=1, config=[{key: master_bytes}, {key: slave_bytes}])
    for _ in range(20):
        pair.send(b"x" * 500)
    pair.core.advance(11_000)
    texts = [warned.text for warned in pair.core.journal.find(Warned)]
    assert any(why in text for text in texts)
