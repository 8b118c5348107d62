"""A slave's look at its master's tables: what it asks where, and answers that are none."""

from __future__ import annotations

import pytest

from fakemq.events import Warned
from fakemq.events.replication import MetadataSynchronized
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.faults.points import SILENCE
from fakemq.protocol.bodies.offset import ConsumerOffsetSerializeWrapper
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from tests.support.master_tables import (
    DELAYS,
    FAST,
    GOOD,
    GROUPS,
    MAIN,
    OFFSETS,
    TOPICS,
    VERSION,
)
from tests.support.namesrv_double import NameServerDouble
from tests.support.replication import SYNC, Replicated, same_log
from tests.support.slices import take_turns, work_in_turns


class Elsewhere:
    """A slave whose master is one of the test's own, at `MAIN` and `FAST`.

    ``asked`` has what it asked, in order: milliseconds since then, address and code.
    """

    def __init__(self) -> None:
        pair = Replicated()
        self.core, self.slave = pair.core, pair.slave
        self.core.faults.place(SILENCE, None, "", Scope(node=self.slave.name), ALWAYS)
        synchronize = self.slave.replication().synchronize
        assert synchronize is not None
        self.asked: list[tuple[int, str, int]] = []
        self.bodies = dict(GOOD)
        self.codes: dict[int, int] = {}
        for addr in (MAIN, FAST):
            self._listen(addr)
        self._began_ms = self.core.clock.now_ms()
        synchronize.set_master_addr(MAIN)

    def _listen(self, addr: str) -> None:
        def answer(request: RemotingCommand) -> RemotingCommand | None:
            at_ms = self.core.clock.now_ms() - self._began_ms
            self.asked.append((at_ms, addr, request.code))
            body = self.bodies.get(request.code)
            status = self.codes.get(request.code, ResponseCode.SUCCESS)
            return None if body is None else RemotingCommand(status, body=body)

        core = self.core
        NameServerDouble(core.network, core.clock, core.journal, addr).answer = answer

    def look(self) -> None:
        """Let the slave look, at the first tick of its grid."""
        self.core.advance(3_000)

    def warnings(self) -> list[str]:
        return [event.text for event in self.core.journal.find(Warned)]

    def taken(self) -> set[int]:
        """Of which requests the slave has the answers."""
        slave = self.slave
        found = {
            TOPICS: slave.topics.select("elsewhere") is not None,
            OFFSETS: slave.offsets.query("billing", "orders", 0) == 7,
            GROUPS: slave.groups.data_version == VERSION,
        }
        slave.stop()
        self.core.network.settle()
        self.core.start_broker(slave)
        # The next start begins with them, as it begins with the file on a disk.
        return {each for each, is_there in found.items() if is_there} | (
            {DELAYS} if 3 in slave.delay.offsets else set()
        )


def test_only_topics_are_requested_at_the_fast_port() -> None:
    lab = Elsewhere()
    lab.look()
    assert lab.asked == [
        (3_000, FAST, TOPICS),
        (3_000, MAIN, OFFSETS),
        (3_000, MAIN, DELAYS),
        (3_000, MAIN, GROUPS),
    ]
    lab.core.advance(9_999)
    assert len(lab.asked) == 4
    lab.core.advance(1)
    assert len(lab.asked) == 8
    assert lab.warnings() == []
    assert lab.taken() == {TOPICS, OFFSETS, DELAYS, GROUPS}


def test_unchanged_table_is_not_taken_again() -> None:
    lab = Elsewhere()
    lab.core.advance(33_000)
    notified = [
        e.what for e in lab.core.journal.find(MetadataSynchronized) if e.node == lab.slave.name
    ]
    assert notified[-2:] == ["topics", "groups"]
    assert len(lab.asked) == 16
    assert notified.count("topics") == 2  # the first time its real master's


@pytest.mark.parametrize("code", [TOPICS, OFFSETS, DELAYS, GROUPS])
@pytest.mark.parametrize("body", [b"", b"{", b'{"dataVersion":"x","offsetTable":1}', b"\xff\xfe"])
def test_unreadable_answer_is_ignored(code: RequestCode, body: bytes) -> None:
    lab = Elsewhere()
    lab.bodies[code] = body
    lab.look()
    assert lab.taken() == GOOD.keys() - {code}
    (text,) = lab.warnings()
    assert text.startswith(f"the master's answer to {code.name} cannot be read: ")


@pytest.mark.parametrize("code", [TOPICS, OFFSETS, DELAYS, GROUPS])
def test_error_answer_is_ignored(code: RequestCode) -> None:
    lab = Elsewhere()
    lab.codes[code] = ResponseCode.SYSTEM_ERROR
    lab.look()
    assert lab.taken() == GOOD.keys() - {code}


def test_missed_tick_is_made_up_at_once() -> None:
    lab = Elsewhere()
    lab.bodies.clear()
    lab.core.advance(24_999)
    # No node answers, and each request waits for three seconds: the tick at 13 s comes at 15 s.
    assert [(at_ms, code) for at_ms, _, code in lab.asked] == [
        *((3_000, TOPICS), (6_000, OFFSETS), (9_000, DELAYS), (12_000, GROUPS)),
        *((15_000, TOPICS), (18_000, OFFSETS), (21_000, DELAYS), (24_000, GROUPS)),
    ]
    lab.bodies.update(GOOD)
    lab.core.advance(8_001)
    assert [at_ms for at_ms, _, _ in lab.asked[8:]] == [27_000] * 4 + [33_000] * 4


def test_slave_that_is_its_own_master_asks_no_node() -> None:
    lab = Elsewhere()
    synchronize = lab.slave.replication().synchronize
    assert synchronize is not None
    synchronize.set_master_addr(lab.slave.addr)
    lab.core.advance(60_000)
    synchronize.set_master_addr(None)
    lab.core.advance(60_000)
    assert lab.asked == []


@pytest.mark.parametrize("addr", ["", "somewhere", "host:port"])
def test_unreachable_master_changes_nothing(addr: str) -> None:
    lab = Elsewhere()
    synchronize = lab.slave.replication().synchronize
    assert synchronize is not None
    synchronize.set_master_addr(addr)
    lab.core.advance(20_000, outside_peers=True)
    assert lab.asked == []
    synchronize.set_master_addr(MAIN)
    lab.core.advance(10_000, outside_peers=True)
    assert [code for _, _, code in lab.asked[:4]] == [*GOOD]


def test_large_table_is_taken_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    # 100,000 offsets took eight seconds in one turn.
    lab = Elsewhere()
    lab.look()
    table = {f"topic-{number}@billing": {0: number} for number in range(5_000)}
    lab.bodies[OFFSETS] = ConsumerOffsetSerializeWrapper(offset_table=table).encode()
    work_in_turns(lab.core.clock, monkeypatch)
    lab.slave.replication().sync_now()
    lab.core.network.settle()
    assert lab.slave.offsets.query("billing", "topic-4999", 0) == -1
    assert take_turns(lab.core.clock) > 2
    assert lab.slave.offsets.query("billing", "topic-4999", 0) == 4999


def test_slave_that_stops_while_asking_takes_nothing() -> None:
    lab = Elsewhere()
    del lab.bodies[OFFSETS]
    lab.look()
    lab.slave.stop()
    lab.core.advance(60_000)
    assert [code for _, _, code in lab.asked] == [TOPICS, OFFSETS]


# -- haMasterAddress ------------------------------------------------------------------------------


def test_slave_with_a_configured_address_syncs_tables_of_that_master() -> None:
    middle = {"haMasterAddress": "127.0.0.1:10932"}
    trio = Replicated(role=SYNC, slaves=2, config=[{}, {}, middle])
    first, last = trio.slaves
    assert first.ha_addr == middle["haMasterAddress"]
    assert [end.remote_addr for end in first.replication().connections] != []
    assert len(trio.ha.connections) == 1
    for number in range(10):
        trio.send(b"%d" % number)
    trio.master.offsets.commit("billing", "orders", 0, 3)
    trio.master.create_topic("new", 2)
    trio.core.advance(20_000)
    assert last.store.max_phy_offset == trio.master.store.max_phy_offset
    assert same_log(trio.master.store, last.store)
    assert last.offsets.query("billing", "orders", 0) == 3
    assert last.topics.select("new") is not None
    # Whatever name servers say of the master, and whichever node is gone.
    trio.stop(first)
    trio.core.advance(60_000)
    client = last.replication().client
    assert client is not None
    assert (client.master_address, client.end) == (middle["haMasterAddress"], None)
    trio.start(first)
    trio.send(b"more")
    trio.core.advance(20_000)
    assert same_log(trio.master.store, last.store)
    assert last.store.max_offset_in_queue("orders", 0) == 11


def test_too_short_address_is_ignored() -> None:
    pair = Replicated(role=SYNC, config=[{}, {"haMasterAddress": "a:123"}])
    client = pair.slave.replication().client
    assert client is not None
    assert client.master_address == pair.master.ha_addr
    pair.send()
    pair.assert_same()
