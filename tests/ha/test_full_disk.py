"""A slave whose disk takes no more, and does again: it is in step then, without a restart."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from fakemq.clock.slices import finished
from fakemq.events import HandlerFailed, Warned
from tests.support.full_disk import FullDisk, NoDescriptors
from tests.support.replication import NO_SLAVE, OK, SMALL, SYNC, TIMEOUT, Replicated, code

SLAVE = "broker-a-1"
WAITED = {OK, NO_SLAVE, TIMEOUT}
"""What a SYNC_MASTER may answer while its slave takes nothing: it has the message itself."""
END_MS = 1 << 60


class Keyed:
    """A pair, and messages of one queue with the keys k0, k1 and so on."""

    def __init__(self, folder: Path) -> None:
        self.pair = Replicated(role=SYNC, store=str(folder), config=SMALL)
        self.sent = 0

    def send(self, count: int) -> set[object]:
        """Return the codes of the answers; None if one is missing after half a minute."""
        numbers = range(self.sent, self.sent + count)
        self.sent += count
        answers = [self.pair.send(b"x" * 500, properties=f"KEYS\x01k{one}") for one in numbers]
        self.pair.core.advance(30_000)
        return {code(answer) for answer in answers}

    def assert_in_step(self) -> None:
        """The slave has every message by queue and by key, and the master's log."""
        self.pair.assert_same()
        store = self.pair.slave.store
        keys = [f"k{number}" for number in range(self.sent)]
        assert [one.keys for one in store.messages_in_queue("orders", 0)] == keys
        for key in keys:
            assert len(finished(store.query_message("orders", key, 64, 0, END_MS)).buffers) == 1
        assert self.pair.core.journal.find(HandlerFailed) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE])
@pytest.mark.parametrize("part", ["commitlog", "consumequeue", "index", "checkpoint", "config", ""])
def test_slave_is_in_step_when_its_disk_takes_writes_again(
    part: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    disk.number = number
    keyed = Keyed(tmp_path)
    assert keyed.send(3) == {OK}
    disk.full = (f"{SLAVE}/{part}",)
    assert keyed.send(12) <= WAITED  # more than one file of the log
    disk.full = ()
    keyed.pair.core.advance(10_000)
    keyed.assert_in_step()
    assert keyed.send(1) == {OK}
    keyed.assert_in_step()
    keyed.pair.core.stop()


@pytest.mark.parametrize("part", ["commitlog", "consumequeue", "index", "checkpoint", "config", ""])
def test_slave_is_in_step_when_it_has_descriptors_again(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = NoDescriptors(monkeypatch)
    keyed = Keyed(tmp_path)
    assert keyed.send(3) == {OK}
    limit.refused = (f"{SLAVE}/{part}",)
    assert keyed.send(30) <= WAITED  # more than one file of the log and of the queue
    limit.refused = ()
    keyed.pair.core.advance(10_000)
    keyed.assert_in_step()
    assert keyed.send(1) == {OK}
    keyed.assert_in_step()
    keyed.pair.core.stop()


def test_slave_says_that_its_disk_refuses_and_takes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    keyed = Keyed(tmp_path)
    keyed.send(3)
    disk.full = (f"{SLAVE}/consumequeue",)
    keyed.send(1)
    disk.full = ()
    keyed.pair.core.advance(10_000)
    first, *closed, last = (one.text for one in keyed.pair.core.journal.find(Warned))
    assert first.endswith("No space left on device: messages are refused until the disk takes them")
    assert all(text.startswith("closed the HA connection of ") for text in closed)
    assert last.endswith("messages are taken again")
    keyed.pair.core.stop()
