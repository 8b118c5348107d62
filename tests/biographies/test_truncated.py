"""What is said of messages after a log was cut off: the old master's, when it returns."""

from __future__ import annotations

import fakemq
from fakemq.biographies import steps
from fakemq.biographies.chronicle import Rising
from fakemq.clock.clock import Clock
from fakemq.events import LogTruncated
from fakemq.events.replication import Replicated
from fakemq.journal.journal import Journal


def test_message_behind_a_cut_is_replicated_to_the_old_master() -> None:
    with fakemq.Cluster(
        reference="5.5.0",
        controllers=1,
        slaves=1,
        clock="frozen",
        topics={"orders": 1},
        config={"allAckInSyncStateSet": "true"},
    ) as mq:
        mq.seed("orders", ["first"])
        mq.failover("broker-a")
        mq.broker("broker-a@1").restart()
        mq.clock.advance("31s")
        mq.seed("orders", ["kept"])
        mq.clock.advance("1s")
        mq.partition("broker-a@2", "broker-a@1")
        mq.partition("broker-a@2", "controller-0")
        mq.seed("orders", ["lost", "lost, too"])
        mq.clock.advance("16s")
        assert mq.group_of("broker-a").master == "broker-a@1"
        mq.heal()
        mq.clock.advance("31s")
        (cut,) = mq.journal.find(LogTruncated)
        assert cut.node == "broker-a@2"
        mq.seed("orders", ["new"])
        mq.clock.advance("1s")
        bodies = {one.body: one for one in mq.messages("orders")}
        assert bodies.keys() == {b"first", b"kept", b"new"}
        found = [one.node for one in bodies[b"new"].biography if isinstance(one, steps.Replicated)]
        assert found == ["broker-a@2"]


def test_offsets_beyond_a_cut_count_no_more() -> None:
    journal = Journal(Clock(frozen=True))
    for end_offset in (100, 200, 180):
        journal.add(Replicated(node="broker-a@2", phy_offset=0, end_offset=end_offset))
    first, cut_off, again = list(journal)
    rising = Rising()
    rising.put(100, first)
    rising.put(200, cut_off)
    assert rising.past(150) is cut_off
    rising.cut(150)
    assert rising.past(150) is None
    rising.put(180, again)
    assert (rising.past(50), rising.past(150), rising.end_offset) == (first, again, 180)
