"""Replication of 5.5.0: how many slaves a send waits for, and how a slave keeps its connection."""

from __future__ import annotations

from collections.abc import Mapping
from unittest.mock import MagicMock

from fakemq.ha.slave_link import SlaveEnd
from fakemq.ha.v5.service import HAService5
from tests.support.replication import OK, SYNC, TIMEOUT, Replicated, code

TWO = {"inSyncReplicas": "2"}
THREE = {"inSyncReplicas": "3"}


def pair(config: Mapping[str, str] | None = None, *, slaves: int = 1) -> Replicated:
    return Replicated(reference="5.5.0", role=SYNC, slaves=slaves, config=dict(config or {}))


def end(lab: Replicated) -> SlaveEnd | None:
    """The slave's open connection."""
    client = lab.slave.replication().client
    assert client is not None
    return client.end


# -- sends ----------------------------------------------------------------------------------------


def test_send_waits_for_no_slave_unless_asked_to() -> None:
    lab = pair()
    lab.slave.pause()
    assert code(lab.send()) is OK


def test_send_waits_for_a_slave_with_two_replicas() -> None:
    lab = pair(TWO)
    assert code(lab.send()) is OK
    lab.slave.pause()
    answer = lab.send()
    lab.core.advance(2_999)
    assert not answer.over
    lab.slave.resume()
    lab.core.network.settle()
    assert code(answer) is OK
    lab.assert_same()


def test_time_out_is_noticed_to_the_millisecond() -> None:
    lab = pair({**TWO, "slaveTimeout": "1234"})
    lab.slave.pause()
    answer = lab.send()
    lab.core.advance(1_233)
    assert not answer.over
    lab.core.advance(1)
    assert code(answer) is TIMEOUT


def test_missing_slave_is_waited_for() -> None:
    lab = pair(TWO, slaves=0)
    answer = lab.send()
    lab.core.advance(2_999)
    assert not answer.over
    lab.core.advance(1)
    assert code(answer) is TIMEOUT


def test_three_replicas_are_two_slaves() -> None:
    lab = pair(THREE, slaves=2)
    assert code(lab.send()) is OK
    first, second = lab.slaves
    first.pause()
    answer = lab.send()
    lab.core.advance(1_000)
    assert not answer.over
    first.resume()
    lab.core.network.settle()
    assert code(answer) is OK
    lab.kill(second)
    answer = lab.send()
    lab.core.advance(3_000)
    assert code(answer) is TIMEOUT


def test_slave_that_is_gone_counts_no_more() -> None:
    lab = pair(THREE, slaves=2)
    assert code(lab.send()) is OK
    lab.kill(lab.slaves[0])
    ha = lab.ha
    assert isinstance(ha, HAService5)
    done = MagicMock()
    ha.when_transferred(lab.master.store.max_phy_offset, done)
    done.assert_not_called()
    lab.core.advance(3_000)
    done.assert_called_once_with(False)


# -- the slave's connection -----------------------------------------------------------------------


def test_slave_closes_the_connection_of_a_silent_master_and_connects_again() -> None:
    lab = pair()
    lab.master.pause()
    first = end(lab)
    lab.core.advance(20_000)
    assert end(lab) is first
    lab.core.advance(1)
    assert end(lab) not in (None, first)
    lab.master.resume()
    lab.core.network.settle()
    lab.send()
    lab.core.advance(5_100)
    lab.assert_same()


def test_slave_waits_5_s_after_a_lost_connection_and_reports_at_once() -> None:
    lab = pair()
    lab.core.advance(60_000)
    first = end(lab)
    assert first is not None
    first.close("test")
    lab.core.network.settle()
    lab.core.advance(4_999)
    assert end(lab) is None
    lab.core.advance(1)
    assert end(lab) is not None
    lab.core.advance(1)
    lab.core.network.settle()
    (connection,) = lab.ha.connections
    assert connection.connection.started
