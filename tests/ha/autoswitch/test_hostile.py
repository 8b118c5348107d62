"""Peers of a broker under a controller that send anything, or nothing."""

from __future__ import annotations

from random import Random

import pytest

from fakemq.events import HandlerFailed
from fakemq.ha.autoswitch import slave_link
from fakemq.ha.autoswitch.master import HANDSHAKE, TRANSFER
from fakemq.net.link import Link
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.layout.autoswitch_codecs import (
    build_epoch_start,
    build_epoch_transfer,
    build_master_handshake,
    build_slave_handshake,
    build_slave_report,
)
from fakemq.protocol.message import encode_record
from tests.support.autoswitch_lab import AutoSwitched
from tests.support.echo import Echo

HA = "10.0.0.9:10912"
HOST = ("1.1.1.1", 1)
RECORD = encode_record("orders", b"hello", "TAGS\x01a", queue_id=0, born_host=HOST, store_host=HOST)


class Master:
    """What listens where a slave looks for its master; it answers each connection with bytes."""

    def __init__(self, lab: AutoSwitched, answer: bytes = b"") -> None:
        self.answer = answer
        self.peers: list[Echo] = []
        lab.network.listen(HA, self.accept)

    def accept(self, link: Link) -> Echo:
        peer = Echo(answers=False).on(link)
        self.peers.append(peer)
        if self.answer:
            link.write(self.answer)
        return peer


def followed(answer: bytes = b"") -> tuple[AutoSwitched, Master]:
    """A slave of a master that the test plays."""
    lab = AutoSwitched(1)
    master = Master(lab, answer)
    lab.brokers[1].store.role.take("SLAVE")
    assert lab.ha(1).change_to_slave(1, 2, 1)
    lab.ha(1).master_is(None, HA)
    lab.network.settle()
    return lab, master


def peer_of(lab: AutoSwitched, data: bytes) -> Echo:
    """A peer at the HA port of the first broker that has sent bytes."""
    peer = Echo(answers=False)
    lab.network.connect(lab.brokers[1].ha_addr, "peer", peer.on)
    peer.link.write(data)
    lab.network.settle()
    return peer


def handshake(end: int, *starts: tuple[int, int]) -> bytes:
    body = b"".join(build_epoch_start(*start) for start in starts)
    return build_master_handshake(HANDSHAKE, len(body), end, starts[-1][0] if starts else -1) + body


def transfer(offset: int, body: bytes, epoch: int = 1, start: int = 0) -> bytes:
    return build_epoch_transfer(TRANSFER, len(body), offset, epoch, start, 1 << 40) + body


# -- silence ---------------------------------------------------------------------------------------


def test_slave_repeats_its_handshake_every_5_s_to_a_silent_master() -> None:
    lab, master = followed()
    lab.lab.pass_time(11_000)
    hello = build_slave_handshake(HANDSHAKE, 0, 0, 1)
    assert master.peers[0].received == hello * 3


def test_silent_peer_of_a_master_is_disconnected_after_20_s() -> None:
    lab = AutoSwitched(1)
    lab.elect(1)
    peer = peer_of(lab, build_slave_handshake(HANDSHAKE, 0, 0, 7))
    lab.lab.pass_time(20_000)
    assert not peer.lost
    lab.lab.pass_time(2)
    assert peer.lost
    assert not lab.proposed


# -- epochs ----------------------------------------------------------------------------------------


def test_master_ends_the_connection_of_a_slave_that_claims_more_than_there_is() -> None:
    lab = AutoSwitched(1)
    lab.elect(1)
    hello = build_slave_handshake(HANDSHAKE, 0, 0, 7)
    assert peer_of(lab, hello + build_slave_report(TRANSFER, 1)).lost
    assert not lab.proposed


def test_epoch_of_no_byte_of_its_transfer_is_refused() -> None:
    lab, master = followed(handshake(0, (1, 0)) + transfer(0, RECORD, 1, len(RECORD) + 1))
    assert master.peers[0].lost
    assert lab.starts(1) == []


def test_master_of_too_many_epochs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slave_link, "MOST_EPOCHS", 3)
    frames = [transfer(at, b"x", at + 1, at) for at in range(5)]
    lab, master = followed(handshake(0, (1, 0)) + b"".join(frames))
    assert master.peers[0].lost
    assert lab.starts(1) == [(1, 0), (2, 1), (3, 2)]


def test_confirm_offset_of_a_master_counts_up_to_the_end_of_the_log() -> None:
    lab, _ = followed(handshake(0, (1, 0)) + transfer(0, RECORD))
    assert lab.ha(1).confirm_offset == len(RECORD)
    assert lab.queued(1) == 1


def test_confirm_offset_of_a_slave_falls_with_the_masters() -> None:
    lower = build_epoch_transfer(TRANSFER, 0, len(RECORD), 1, 0, 7)
    lab, _ = followed(handshake(0, (1, 0)) + transfer(0, RECORD) + lower)
    assert lab.ha(1).confirm_offset == 7


# -- ids -------------------------------------------------------------------------------------------


def test_two_connections_of_one_member_count_twice() -> None:
    """GroupTransferService.java#doWaitTransfer counts connections (5.5.0)"""
    lab = AutoSwitched(1, all_ack_in_sync_state_set=True)
    lab.elect(1)
    lab.take({1, 2, 3})
    hello = build_slave_handshake(HANDSHAKE, 0, 0, 2)
    peers = [peer_of(lab, hello + build_slave_report(TRANSFER, 0)) for _ in range(2)]
    answer = lab.send()
    answered = []
    for peer in peers:
        peer.link.write(build_slave_report(TRANSFER, lab.ends()[1]))
        lab.network.settle()
        answered.append(answer.response is not None)
    assert answered == [False, True]


def test_peer_without_a_handshake_gets_the_log_and_is_no_member() -> None:
    lab = AutoSwitched(1)
    lab.elect(1)
    lab.send()
    peer = peer_of(lab, build_slave_report(TRANSFER, 0))
    assert len(peer.received) == 36 + lab.ends()[1]
    peer.link.write(build_slave_report(TRANSFER, lab.ends()[1]))
    lab.network.settle()
    assert lab.proposed == [{-1, 1}] or not lab.proposed


# -- anything --------------------------------------------------------------------------------------


def odd(random: Random) -> int:
    return random.choice([0, 1, 2, 3, -1, 5, 214, 1 << 31, 1 << 62, (1 << 63) - 1, -(1 << 63)])


def small(random: Random) -> int:
    return random.choice([0, 1, 2, 3, 4, 5, -1, 12, 13, 12_000, 12_012, 1 << 22, (1 << 31) - 1])


@pytest.mark.parametrize("seed", range(6))
def test_master_outlives_slaves_that_send_anything(seed: int) -> None:
    random = Random(seed)
    lab = AutoSwitched(2, all_ack_in_sync_state_set=True)
    lab.elect(1)
    lab.agree()
    for _ in range(40):
        data = b""
        for _ in range(random.randrange(1, 6)):
            data += random.choice(
                [
                    build_slave_handshake(random.choice([1, 1, 1, small(random)]), 0, 1, 9),
                    build_slave_report(random.choice([2, 2, 2, small(random)]), odd(random)),
                    random.randbytes(random.randrange(30)),
                ]
            )
        peer = peer_of(lab, data[: random.randrange(len(data) + 1)])
        if random.random() < 0.5:
            peer.link.close()
        lab.send()
        lab.lab.pass_time(random.choice([0, 1, 100, 5_000]))
    lab.lab.pass_time(30_000)
    assert not lab.journal.find(HandlerFailed)
    lab.take({1, 2})
    answer = lab.send()
    lab.network.settle()
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS
    assert lab.ends()[1] == lab.ends()[2]


@pytest.mark.parametrize("seed", range(12))
def test_slave_outlives_masters_that_send_anything(seed: int) -> None:
    random = Random(seed)
    lab, master = followed()
    for _ in range(30):
        end = lab.ends()[1]
        data = random.choice([handshake(end, (1, 0)), handshake(end, *lab.starts(1) or [(1, 0)])])
        if random.random() < 0.3:
            data = build_master_handshake(1, small(random), odd(random), small(random) % 99)
        for _ in range(random.randrange(5)):
            body = random.choice([b"", RECORD, RECORD[:40], bytes(8), random.randbytes(20)])
            offset = random.choice([end, end, end, odd(random)])
            size = random.choice([len(body)] * 5 + [small(random)])
            epoch = random.choice([1, 1, 2, small(random) % (1 << 31)])
            start = random.choice([0, 0, end, odd(random)])
            data += build_epoch_transfer(2, size, offset, epoch, start, odd(random)) + body
            end += len(body)
        master.answer = data
        lab.lab.pass_time(random.choice([100, 5_100, 8_000, 30_000]))
    assert not lab.journal.find(HandlerFailed)
    starts = lab.starts(1)
    assert starts == sorted(starts)
    assert all(start >= 0 for _, start in starts)
    lab.epoch = max(0, lab.ha(1).epochs.last_epoch() - 1)
    lab.elect(1)
    answer = lab.send()
    lab.network.settle()
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS
