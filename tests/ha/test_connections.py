"""The two ends of a replication connection as state machines: any bytes, cut anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.ha.master import MasterConnection
from fakemq.ha.slave import READ_MAX_BUFFER_SIZE, SlaveConnection, Transfer
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.codecs import SLAVE_ACK, TRANSFER_HEADER


class Log:
    """Bytes in files of one size, from ``start`` on."""

    def __init__(self, data: bytes = b"", *, file_size_bytes: int = 100, start: int = 0) -> None:
        self.data = data
        self.start = start
        self.file_size_bytes = file_size_bytes

    @property
    def max_offset(self) -> int:
        return self.start + len(self.data) if self.data else 0

    def read_from(self, offset: int) -> memoryview | None:
        if not self.start <= offset < self.max_offset:
            return None
        end = offset - offset % self.file_size_bytes + self.file_size_bytes
        return memoryview(self.data)[offset - self.start : end - self.start]


def report(*offsets: int) -> bytes:
    return b"".join(map(SLAVE_ACK.pack, offsets))


def sent(connection: MasterConnection, batch_bytes: int = 32) -> list[tuple[int, int]]:
    """Offset and size of every transfer there is; the bytes say the same."""
    found = []
    while (transfer := connection.next_transfer(batch_bytes)) is not None:
        offset, data = transfer
        assert TRANSFER_HEADER.unpack_from(data) == (offset, len(data) - 12)
        found.append((offset, len(data) - 12))
    return found


# -- the master -------------------------------------------------------------------------------


def test_silent_slave_gets_no_transfer() -> None:
    connection = MasterConnection(Log(b"x" * 50))
    assert (connection.started, sent(connection)) == (False, [])
    assert connection.receive_data(report(0)[:7]) is None
    assert (connection.started, connection.unfinished_bytes) == (False, 7)
    assert connection.receive_data(report(0)[7:]) == 0
    assert (connection.started, sent(connection)) == (True, [(0, 32), (32, 18)])


def test_transfers_never_cross_a_file() -> None:
    connection = MasterConnection(Log(b"x" * 250))
    connection.receive_data(report(60))
    assert sent(connection) == [
        *((60, 32), (92, 8)),
        *((100, 32), (132, 32), (164, 32), (196, 4)),
        *((200, 32), (232, 18)),
    ]
    assert connection.heartbeat() == TRANSFER_HEADER.pack(250, 0)


@pytest.mark.parametrize(
    ("log", "first"),
    [
        (Log(), 0),
        (Log(b"x"), 0),
        (Log(b"x" * 250), 200),
        (Log(b"x" * 200), 200),
        (Log(b"x" * 50, start=300), 300),
    ],
)
def test_empty_slave_begins_with_the_last_file(log: Log, first: int) -> None:
    connection = MasterConnection(log)
    connection.receive_data(report(0))
    assert connection.next_transfer_from_where == first


def test_last_report_counts_and_only_the_first_requests_an_offset() -> None:
    log = Log(b"x" * 90)
    connection = MasterConnection(log)
    assert connection.receive_data(report(10, 20) + report(90)[:3]) == 20
    assert connection.slave_request_offset == connection.next_transfer_from_where == 20
    assert connection.receive_data(report(90)[3:]) == 90
    assert (connection.slave_ack_offset, connection.next_transfer_from_where) == (90, 20)


@pytest.mark.parametrize("offset", [51, 1 << 62, -1, -(1 << 63), int.from_bytes(b"GET / HT")])
def test_invalid_report_closes_the_connection(offset: int) -> None:
    for before in ((), (10,)):
        connection = MasterConnection(Log(b"x" * 50))
        for earlier in before:
            connection.receive_data(report(earlier))
        with pytest.raises(RemoteProtocolError, match=f"reports offset {offset}; .* ends at 50"):
            connection.receive_data(report(offset))


def test_master_believes_reports_like_java_on_request() -> None:
    connection = MasterConnection(Log(b"x" * 50), believes_reports=True)
    assert connection.receive_data(report(1000)) == 1000
    assert (sent(connection), connection.next_transfer_from_where) == ([], 1000)
    with pytest.raises(RemoteProtocolError):
        connection.receive_data(report(1001))


# -- the slave --------------------------------------------------------------------------------


def transfer(offset: int, body: bytes = b"") -> bytes:
    return TRANSFER_HEADER.pack(offset, len(body)) + body


def test_slave_appends_what_continues_its_log() -> None:
    connection = SlaveConnection(10)
    connection.receive_data(transfer(10, b"abc") + transfer(13) + transfer(13, b"de")[:-1])
    assert connection.next_transfer(10) == Transfer(10, b"abc")
    assert connection.next_transfer(13) == Transfer(13, b"")
    assert (connection.next_transfer(13), connection.unfinished_bytes) == (None, 13)
    connection.receive_data(b"e")
    assert connection.next_transfer(13) == Transfer(13, b"de")
    assert (connection.report_more(15), connection.report_more(15)) == (report(15), b"")
    assert connection.report() == report(15)


@pytest.mark.parametrize(
    ("end", "header"),
    [
        (10, (11, 5)),
        (10, (0, 0)),
        (0, (-100, 0)),
        (10, (10, -1)),
        (0, (0, READ_MAX_BUFFER_SIZE - 11)),
    ],
)
def test_invalid_transfer_is_recognised_by_its_header(end: int, header: tuple[int, int]) -> None:
    connection = SlaveConnection(end)
    connection.receive_data(TRANSFER_HEADER.pack(*header))
    with pytest.raises(RemoteProtocolError):
        connection.next_transfer(end)


def test_empty_slave_begins_at_any_offset() -> None:
    connection = SlaveConnection(0)
    connection.receive_data(transfer(300, b"abc"))
    assert connection.next_transfer(0) == Transfer(300, b"abc")


# -- together ---------------------------------------------------------------------------------


class Pair:
    """A master and its slave with a wire between them that cuts where it likes."""

    def __init__(self, log: Log, had: int, batch_bytes: int) -> None:
        self.log = log
        self.copy = bytearray(log.data[:had])
        self.begins = 0 if had else -1
        self.master, self.slave = MasterConnection(log), SlaveConnection(had)
        self.batch_bytes = batch_bytes
        self.to_slave, self.to_master = b"", self.slave.report()

    @property
    def end(self) -> int:
        return self.begins + len(self.copy) if self.copy else 0

    def step(self, cut: int) -> None:
        """Let this number of bytes pass each way, and send one more transfer."""
        head, self.to_master = self.to_master[:cut], self.to_master[cut:]
        self.master.receive_data(head)
        if self.begins < 0 and self.master.started:
            self.begins = self.master.next_transfer_from_where
        found = self.master.next_transfer(self.batch_bytes)
        self.to_slave += b"" if found is None else found[1]
        head, self.to_slave = self.to_slave[:cut], self.to_slave[cut:]
        self.slave.receive_data(head)
        while (got := self.slave.next_transfer(self.end)) is not None:
            self.copy += got.body
            self.to_master += self.slave.report_more(self.end)


@settings(deadline=None)
@given(st.data())
def test_logs_are_equal_in_the_end_for_any_interruptions(data: st.DataObject) -> None:
    log = Log(data.draw(st.binary(max_size=300)), file_size_bytes=64)
    pair = Pair(log, data.draw(st.integers(0, len(log.data))), data.draw(st.integers(1, 80)))
    for more, cut in data.draw(st.lists(st.tuples(st.binary(max_size=40), st.integers(1, 30)))):
        log.data += more
        pair.step(cut)
    for _ in range(1000):
        pair.step(1000)
    assert bytes(pair.copy) == log.data[pair.begins :]
    assert pair.begins % 64 == 0
    assert pair.master.slave_ack_offset == (log.max_offset if pair.copy else 0)
