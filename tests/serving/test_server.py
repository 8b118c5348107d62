"""A cluster behind sockets: what escapes from it, and a start that fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from fakemq.cluster import Cluster
from fakemq.core.cluster import ClusterCore
from fakemq.errors import FakemqError
from fakemq.events import HandlerFailed


def test_failing_timer_is_a_bug_in_the_journal_and_time_continues() -> None:
    with Cluster() as mq:
        fired = threading.Event()

        def set_timers(core: ClusterCore) -> None:
            clock = core.clock
            clock.call_later(1, lambda: print(1 // 0), kind="rpc_timeout", owner="test")
            clock.call_later(20, fired.set, kind="rpc_timeout", owner="test")

        mq.inspect(set_timers)
        (failed,) = mq.wait_for(lambda: mq.journal.find(HandlerFailed))
        assert (failed.node, failed.code) == ("cluster", None)
        assert failed.error.startswith("ZeroDivisionError")
        assert "_take_turn" in failed.traceback
        assert fired.wait(30)


def test_failing_start_leaves_nothing_behind(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with pytest.raises(FakemqError, match="cannot write the journal"):
        Cluster(journal=tmp_path / "no folder" / "journal").start()
    assert set(threading.enumerate()) <= before  # one of another test may end meanwhile
    with Cluster() as mq:  # another one, so that sockets left open would have been collected
        assert mq.namesrv_addr
