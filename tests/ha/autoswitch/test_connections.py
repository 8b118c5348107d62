"""Both ends of a connection in controller mode, by bytes, and peers that do not keep to them."""

from __future__ import annotations

import pytest

from fakemq.ha.autoswitch.epochs import EpochCache
from fakemq.ha.autoswitch.master import (
    HANDSHAKE,
    MOST_ENTRIES,
    NO_ID,
    TRANSFER,
    AutoSwitchMasterConnection,
)
from fakemq.ha.autoswitch.slave import AutoSwitchSlaveConnection, EpochHeader, Handshake
from fakemq.ha.slave import Transfer
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.autoswitch_codecs import (
    build_epoch_transfer,
    build_master_handshake,
    build_slave_handshake,
    build_slave_report,
    parse_epoch_transfer,
)

FILE_BYTES = 1 << 10


class Log:
    """A log of letters."""

    file_size_bytes = FILE_BYTES

    def __init__(self, end: int = 0, begin: int = 0) -> None:
        self.data = bytes(ord("a") + at % 26 for at in range(end))
        self.begin = begin

    @property
    def min_offset(self) -> int:
        return self.begin if self.data else -1

    @property
    def max_offset(self) -> int:
        return len(self.data)

    def read_from(self, offset: int) -> memoryview | None:
        if not self.begin <= offset < len(self.data):
            return None
        return memoryview(self.data)[offset : offset + FILE_BYTES - offset % FILE_BYTES]


class Master:
    confirm_offset = 77
    own_id = 1

    def __init__(self, *starts: tuple[int, int]) -> None:
        self.epochs = EpochCache.of(starts)


def hello(slave_id: int = 2, *, last_file: int = 0, learner: int = 0) -> bytes:
    return build_slave_handshake(HANDSHAKE, last_file, learner, slave_id)


def report(offset: int) -> bytes:
    return build_slave_report(TRANSFER, offset)


def frames(
    master: AutoSwitchMasterConnection, batch_bytes: int = 100
) -> list[tuple[int, int, int, int]]:
    """Body size, offset, epoch and start of all transfers that are due."""
    found = []
    while (transfer := master.next_transfer(batch_bytes)) is not None:
        _, size, offset, epoch, start, confirmed = parse_epoch_transfer(transfer[1])
        assert (len(transfer[1]), confirmed) == (36 + size, 77)
        found.append((size, offset, epoch, start))
    return found


# -- the master ------------------------------------------------------------------------------------


def test_master_answers_a_handshake_with_its_epochs() -> None:
    master = AutoSwitchMasterConnection(Log(300), Master((1, 0), (4, 120)))
    assert master.receive_data(hello(7)[:11]) is None
    assert (master.handshake_due, master.slave_id) == (False, NO_ID)
    assert master.receive_data(hello(7)[11:]) is None
    assert (master.handshake_due, master.slave_id) == (True, 7)
    assert master.handshake().hex(" ", 4) == (
        "00000001 00000018 00000000 0000012c 00000004"
        " 00000001 00000000 00000000 00000004 00000000 00000078"
    )


def test_frame_that_ends_an_epoch_names_the_next_one() -> None:
    """AutoSwitchHAConnection.java#transferToSlave changes the epoch before the header (5.5.0)"""
    master = AutoSwitchMasterConnection(Log(300), Master((1, 0), (4, 120), (5, 200)))
    master.receive_data(hello() + report(0))
    assert frames(master) == [
        (100, 0, 1, 0),
        (20, 100, 4, 120),
        (80, 120, 5, 200),
        (100, 200, 5, 200),
    ]


def test_slave_at_the_boundary_of_an_epoch_begins_in_the_new_one() -> None:
    master = AutoSwitchMasterConnection(Log(300), Master((1, 0), (4, 120)))
    master.receive_data(hello() + report(120))
    assert frames(master, 500) == [(180, 120, 4, 120)]


def test_slave_that_has_all_knows_the_present_epoch_by_a_heartbeat() -> None:
    master = AutoSwitchMasterConnection(Log(10), Master((1, 0), (2, 10)))
    master.receive_data(hello() + report(10))
    assert parse_epoch_transfer(master.heartbeat())[1:5] == (0, 10, 2, 10)


def test_present_epoch_that_ends_is_noticed() -> None:
    log, of = Log(150), Master((1, 0))
    master = AutoSwitchMasterConnection(log, of)
    master.receive_data(hello() + report(0))
    assert frames(master, 500) == [(150, 0, 1, 0)]
    of.epochs.append(2, 150)
    log.data += bytes(50)
    assert frames(master, 500) == [(0, 150, 2, 150), (50, 150, 2, 150)]


@pytest.mark.parametrize(("last_file", "begin"), [(0, FILE_BYTES), (1, 2 * FILE_BYTES)])
def test_empty_slave_begins_with_the_first_file_or_the_last(last_file: int, begin: int) -> None:
    log = Log(2 * FILE_BYTES + 10, begin=FILE_BYTES)
    master = AutoSwitchMasterConnection(log, Master((1, 0)))
    master.receive_data(hello(last_file=last_file) + report(0))
    assert frames(master, 2_000)[0][1] == begin


def test_empty_master_beats_in_its_first_epoch_and_begins_with_its_first_bytes() -> None:
    log = Log()
    master = AutoSwitchMasterConnection(log, Master((3, 0)))
    master.receive_data(hello() + report(0))
    assert frames(master) == []
    assert parse_epoch_transfer(master.heartbeat())[1:5] == (0, -1, 3, 0)
    log.data = b"x" * 10
    assert frames(master) == [(10, 0, 3, 0)]
    assert parse_epoch_transfer(master.heartbeat())[1:5] == (0, 10, 3, 0)


def test_log_that_is_older_than_its_epochs_is_sent_from_its_beginning_only() -> None:
    """A broker that had no controller before: its first epoch begins at its end."""
    of = Master((1, 200))
    master = AutoSwitchMasterConnection(Log(300), of)
    master.receive_data(hello() + report(0))
    assert frames(master, 500) == [(0, 0, 1, 200), (300, 0, 1, 200)]
    other = AutoSwitchMasterConnection(Log(300), of)
    other.receive_data(hello() + report(50))
    assert other.uncovered_at == -1
    assert frames(other) == []
    assert other.uncovered_at == 50
    assert parse_epoch_transfer(other.heartbeat())[1:5] == (0, 50, 1, 200)


def test_broker_without_epochs_sends_nothing() -> None:
    master = AutoSwitchMasterConnection(Log(300), Master())
    master.receive_data(hello())
    assert master.handshake().hex(" ", 4) == "00000001 00000000 00000000 0000012c ffffffff"
    master.receive_data(report(0))
    assert frames(master) == []
    assert master.heartbeat() == b""


def test_handshake_has_the_newest_1000_epochs() -> None:
    starts = [(epoch, epoch) for epoch in range(1, 1_203)]
    master = AutoSwitchMasterConnection(Log(3_000), Master(*starts))
    master.receive_data(hello())
    slave = AutoSwitchSlaveConnection(0, 2, any_epoch)
    slave.receive_data(master.handshake())
    assert slave.next_handshake() == Handshake(3_000, starts[-MOST_ENTRIES:])


def test_repeated_handshake_is_answered_once() -> None:
    """A slave that waits over 5 s for the answer sends its handshake again."""
    master = AutoSwitchMasterConnection(Log(300), Master((1, 0)))
    master.receive_data(hello() + hello() + hello())
    due = [master.handshake_due]
    master.handshake()
    assert [*due, master.handshake_due] == [True, False]


@pytest.mark.parametrize(
    "data",
    [
        report(301),
        report(-1),
        build_slave_report(0, 0),
        build_slave_report(3, 0),
        build_slave_report(4, 0),
        build_slave_report(5, 0),
        build_slave_report(-1, 0),
        report(10) + hello(),
        hello() + report(10) + report(-(1 << 63)),
        report((1 << 63) - 1),
        hello(Master.own_id),
    ],
)
def test_master_refuses_what_no_slave_sends(data: bytes) -> None:
    master = AutoSwitchMasterConnection(Log(300), Master((1, 0)))
    with pytest.raises(RemoteProtocolError):
        master.receive_data(data)


# -- the slave -------------------------------------------------------------------------------------


def any_epoch(transfer: Transfer, header: EpochHeader) -> None:
    """Take every epoch."""


def agreed(max_offset: int = 0) -> AutoSwitchSlaveConnection:
    slave = AutoSwitchSlaveConnection(max_offset, 2, any_epoch)
    slave.receive_data(build_master_handshake(HANDSHAKE, 12, 300, 1) + bytes(12))
    assert slave.next_handshake() == Handshake(300, [(0, 0)])
    slave.agreed(max_offset)
    return slave


def header_of(slave: AutoSwitchSlaveConnection) -> EpochHeader:
    assert slave.header is not None
    return slave.header


def transfer(
    offset: int, body: bytes, *, epoch: int = 1, start: int = 0, size: int | None = None
) -> bytes:
    size = len(body) if size is None else size
    return build_epoch_transfer(TRANSFER, size, offset, epoch, start, 55) + body


def test_slave_repeats_its_handshake_and_then_its_report() -> None:
    slave = AutoSwitchSlaveConnection(
        10, 2, any_epoch, is_sync_from_last_file=True, is_async_learner=True
    )
    assert slave.report() == hello(2, last_file=1, learner=1)
    slave.agreed(10)
    assert slave.report() == report(10)


def test_transfers_arrive_in_any_pieces() -> None:
    slave = agreed()
    data = transfer(0, b"abc") + transfer(3, b"") + transfer(3, b"de", epoch=2, start=3)
    found, end = [], 0
    for at in range(len(data)):
        slave.receive_data(data[at : at + 1])
        if (one := slave.next_transfer(end)) is not None:
            found.append((one.phy_offset, one.body, *header_of(slave)))
            end += len(one.body)
    assert found == [(0, b"abc", 1, 0, 55), (3, b"", 1, 0, 55), (3, b"de", 2, 3, 55)]


def test_transfer_beyond_a_limit_is_cut_there() -> None:
    slave = agreed()
    slave.receive_data(transfer(0, b"abcdef", epoch=9))
    first = slave.next_transfer(0, 4)
    assert first is not None
    assert first.body == b"abcd"
    assert slave.next_transfer(4, 4) is None
    assert slave.is_held
    rest = slave.next_transfer(4)
    assert rest is not None
    assert (rest.phy_offset, rest.body, header_of(slave).epoch) == (4, b"ef", 9)


@pytest.mark.parametrize(
    "data",
    [
        transfer(0, b""),
        build_master_handshake(0, 0, 0, 1),
        build_master_handshake(HANDSHAKE, -12, 0, 1),
        build_master_handshake(HANDSHAKE, 13, 0, 1),
        build_master_handshake(HANDSHAKE, 12 * MOST_ENTRIES + 12, 0, 1),
        build_master_handshake(HANDSHAKE, (1 << 31) - 1, 0, 1),
        build_master_handshake(HANDSHAKE, 0, -1, 1),
    ],
)
def test_slave_refuses_other_answers_to_its_handshake(data: bytes) -> None:
    slave = AutoSwitchSlaveConnection(0, 2, any_epoch)
    slave.receive_data(data)
    with pytest.raises(RemoteProtocolError):
        slave.next_handshake()


@pytest.mark.parametrize(
    ("max_offset", "data"),
    [
        (0, build_master_handshake(HANDSHAKE, 0, 0, 1)),
        (0, build_master_handshake(4, 0, 0, 1)),
        (10, transfer(11, b"x")),
        (10, transfer(0, b"")),
        (0, transfer(-1, b"x")),
        (0, transfer(-2, b"")),
        (0, transfer(0, b"", size=-1)),
        (0, transfer(0, b"", size=(1 << 22) - 35)),
        (0, transfer(0, b"", epoch=-1)),
        (0, transfer(0, b"", start=-1)),
    ],
)
def test_slave_refuses_what_no_master_sends(max_offset: int, data: bytes) -> None:
    slave = agreed(max_offset)
    slave.receive_data(data)
    with pytest.raises(RemoteProtocolError):
        slave.next_transfer(max_offset)
