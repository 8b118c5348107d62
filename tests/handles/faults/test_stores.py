"""Faults of stores: what they do to sends, to kills and to starts, in memory and in directories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from fakemq.errors import ConfigError
from fakemq.events import StoreRepaired
from fakemq.events.store import StoreRecovered, UnsyncedLost
from fakemq.handles.faults import Fault, Faults
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.query import QueryMessageRequestHeader
from tests.support.cluster_lab import DISK_TIMEOUT, OK, ClusterLab
from tests.support.long_reads import result_of_slices

REFUSED = ResponseCode.SERVICE_NOT_AVAILABLE
MASTER, SLAVE = "broker-a-0", "broker-a-1"
SYNC_FLUSH: Final = "SYNC_FLUSH"


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory" if request.param == "memory" else str(tmp_path)


# -- full disks -------------------------------------------------------------------------------


def test_full_disk_refuses_until_the_fault_is_removed(store: str) -> None:
    with ClusterLab(store=store) as lab:
        assert lab.send() == OK
        with lab.mq.faults.disk_full("broker-a") as fault:
            assert [lab.send(), lab.send()] == [REFUSED] * 2
            lab.mq.clock.advance("1m")
            lab.mq.broker("broker-a").restart()
            lab.connect()
            assert lab.send() == REFUSED
            assert fault.fired == 3
        assert lab.send() == OK
        assert len(lab.bodies()) == 2


def test_disk_is_full_until_the_last_such_fault_is_removed() -> None:
    with ClusterLab() as lab:
        with lab.mq.faults.disk_full("broker-a"):
            with lab.mq.faults.disk_full("broker-a", must_fire=False):
                pass
            assert lab.send() == REFUSED
        assert lab.send() == OK


def test_full_disk_of_a_slave_takes_transfers(store: str) -> None:
    with ClusterLab(store=store, slaves=1, role="SYNC_MASTER") as lab:
        fault = lab.mq.faults.disk_full(SLAVE, must_fire=False)
        assert lab.send() == OK
        assert lab.mq.faults.unused() == []
        lab.mq.reset()
        assert (fault.placed, lab.send()) == (False, OK)


# -- torn writes ------------------------------------------------------------------------------


@pytest.mark.parametrize("kept_bytes", [None, 0, 3, 8, 40, 89])
def test_torn_last_write_is_cut_at_start(store: str, kept_bytes: int | None) -> None:
    with ClusterLab(store=store) as lab:
        for body in (b"one", b"two", b"three"):
            lab.send(body)
        end = lab.end_of(MASTER)
        fault = lab.mq.faults.tear_last_write("broker-a", kept_bytes=kept_bytes)
        lab.mq.broker("broker-a").kill()
        lab.mq.broker("broker-a").restart()
        assert fault.fired == 1
        assert lab.bodies() == [b"one", b"two"]
        (recovered,) = lab.mq.journal.find(StoreRecovered, clean=False)
        assert recovered.max_phy_offset < end
        repairs = lab.mq.journal.find(StoreRepaired)
        assert len([r for r in repairs if "commitlog" in r.file]) == (kept_bytes not in (0, 3))
        lab.connect()
        assert lab.send(b"four") == OK
        lab.mq.broker("broker-a").kill()
        lab.mq.broker("broker-a").restart()
        assert lab.bodies() == [b"one", b"two", b"four"]


def test_tear_waits_for_a_kill_and_a_record(store: str) -> None:
    with ClusterLab(store=store) as lab:
        fault = lab.mq.faults.tear_last_write("broker-a")
        broker = lab.mq.broker("broker-a")
        broker.kill()
        broker.restart()
        lab.connect()
        lab.send(b"one")
        broker.restart()
        assert (fault.fired, lab.bodies()) == (0, [b"one"])
        broker.kill()
        assert fault.fired == 1
        lab.mq.reset()
        lab.connect()
        assert lab.send(b"new") == OK
        assert lab.bodies() == [b"new"]


# -- flushes ----------------------------------------------------------------------------------


def test_lost_flush_is_acknowledged_and_its_data_are_lost(tmp_path: Path) -> None:
    with ClusterLab(store=str(tmp_path), flush=SYNC_FLUSH) as lab:
        assert lab.send(b"safe") == OK
        safe = lab.end_of(MASTER)
        fault = lab.mq.faults.lose_flush("broker-a", always=True)
        assert [lab.send(b"%d" % number) for number in range(3)] == [OK] * 3
        assert fault.fired >= 3
        lab.mq.broker("broker-a").kill(lose_unsynced=True)
        (lost,) = lab.mq.journal.find(UnsyncedLost)
        assert (lost.log_offset, lost.log_bytes > 0) == (safe, True)
        fault.remove()
        lab.mq.broker("broker-a").restart()
        assert lab.bodies() == [b"safe"]


def test_later_flush_repairs_a_lost_one(tmp_path: Path) -> None:
    with ClusterLab(store=str(tmp_path), flush=SYNC_FLUSH) as lab:
        fault = lab.mq.faults.lose_flush("broker-a", on_call=2)
        assert [lab.send(b"%d" % number) for number in range(3)] == [OK] * 3
        assert fault.fired == 1
        lab.mq.broker("broker-a").kill(lose_unsynced=True)
        lab.mq.broker("broker-a").restart()
        assert lab.bodies() == [b"0", b"1", b"2"]


def test_failed_flush_is_answered(tmp_path: Path) -> None:
    with ClusterLab(store=str(tmp_path), flush=SYNC_FLUSH) as lab:
        fault = lab.mq.faults.fail_flush("broker-a")
        assert lab.send(b"one") == DISK_TIMEOUT
        assert fault.fired == 1
        assert lab.send(b"two") == REFUSED
        lab.mq.broker("broker-a").restart()
        lab.connect()
        assert lab.send(b"three") == OK
        assert lab.bodies() == [b"one", b"three"]


def test_failed_flush_after_the_answer_is_journalled(tmp_path: Path) -> None:
    with ClusterLab(store=str(tmp_path)) as lab:
        lab.mq.faults.fail_flush("broker-a")
        assert lab.send(b"one") == OK
        lab.mq.clock.advance("10s")
        assert lab.send(b"two") == REFUSED


def test_slow_flush_delays_the_answer(tmp_path: Path) -> None:
    with ClusterLab(store=str(tmp_path), flush=SYNC_FLUSH) as lab:
        fault = lab.mq.faults.slow_flush("broker-a", "2s")
        first, second = lab.begin(b"one"), lab.begin(b"two")
        assert [one.kind for one in lab.mq.clock.advance("1999ms")].count("slow_flush") == 0
        assert [one.kind for one in lab.mq.clock.advance("1ms")].count("slow_flush") == 1
        assert [lab.end(first), lab.end(second)] == [OK, OK]
        assert (fault.fired, lab.send(b"three")) == (1, OK)


def test_slow_flush_times_out(tmp_path: Path) -> None:
    with ClusterLab(store=str(tmp_path), flush=SYNC_FLUSH) as lab:
        fault = lab.mq.faults.slow_flush("broker-a", "8s", always=True)
        assert lab.send(b"one", "5s") == DISK_TIMEOUT
        second = lab.begin(b"two")
        lab.mq.clock.advance("3s")
        assert lab.end(second) == OK  # by the flush that began before it came
        assert lab.send(b"three", "8s") == DISK_TIMEOUT
        assert fault.fired == 2
        fault.remove()
        assert lab.send(b"four") == OK
        lab.mq.broker("broker-a").kill(lose_unsynced=True)
        lab.mq.broker("broker-a").restart()
        assert len(lab.bodies()) == 4


def test_slow_flush_does_not_delay_sends_without_wait(tmp_path: Path) -> None:
    with ClusterLab(store=str(tmp_path)) as lab:
        fault = lab.mq.faults.slow_flush("broker-a", "30s")
        lab.mq.clock.advance("1s")
        assert lab.send(b"one") == OK
        lab.mq.clock.advance("20s")
        assert fault.fired == 1
        lab.mq.broker("broker-a").kill(lose_unsynced=True)
        assert lab.mq.journal.find(UnsyncedLost)[0].log_bytes > 0


# -- flipped bytes ----------------------------------------------------------------------------


def test_byte_of_a_body_is_flipped(store: str) -> None:
    """It is delivered so; a start after a crash, or a clean one, reads as far as there."""
    with ClusterLab(store=store) as lab:
        for body in (b"one", b"two", b"three"):
            lab.send(body)
        message = lab.mq.messages("orders")[1]
        fault = lab.mq.faults.flip_byte(message)
        assert (fault.fired, fault.used) == (1, True)
        assert lab.bodies() == [b"one", bytes([ord("t") ^ 0xFF]) + b"wo", b"three"]
        fault.remove()
        lab.mq.broker("broker-a").restart()
        assert lab.bodies() == [b"one"]
        assert any("crc" in repair.why.lower() for repair in lab.mq.journal.find(StoreRepaired))


def test_byte_of_the_message_itself_is_flipped_not_of_its_retries() -> None:
    with ClusterLab() as lab:
        (message,) = lab.mq.seed("orders", ["one"])
        lab.mq.consumer(
            group="billing",
            subscribe="orders",
            consume_from="first",
            max_reconsume_times=1,
            on_message=lambda one: one.retry_later(1),
        )
        lab.mq.run_until(lambda: lab.mq.messages("%DLQ%billing"), at_most="1m")
        assert lab.mq.messages("%DLQ%billing")[0].msg_id == message.msg_id
        lab.mq.faults.flip_byte(message.msg_id)
        assert lab.bodies() == [bytes([ord("o") ^ 0xFF]) + b"ne"]
        assert [one.body for one in lab.mq.messages("%DLQ%billing")] == [b"one"]


def test_message_whose_byte_is_flipped_is_looked_for_in_slices() -> None:
    with ClusterLab() as lab:
        last = lab.mq.seed("orders", ["x"] * 3_000)[-1]
        fault = result_of_slices(lab.mq, lambda: lab.mq.faults.flip_byte(last.offset_msg_id))
        assert fault.fired == 1


def test_byte_is_flipped_back_and_at_the_slave_only(store: str) -> None:
    with ClusterLab(store=store, slaves=1, role="SYNC_MASTER") as lab:
        lab.send(b"one")
        (message,) = lab.mq.messages("orders")
        lab.mq.faults.flip_byte(message, broker=SLAVE)
        assert lab.stored_bodies(MASTER) == [b"one"]
        assert lab.stored_bodies(SLAVE) == [bytes([ord("o") ^ 0xFF]) + b"ne"]
        lab.mq.faults.flip_byte(message, broker=SLAVE)
        assert lab.stored_bodies(SLAVE) == [b"one"]


def test_byte_of_a_queue_entry_is_flipped(store: str) -> None:
    with ClusterLab(store=store) as lab:
        lab.send(b"one")
        (message,) = lab.mq.messages("orders")
        store_of = lab.mq.inspect(lambda core: core.broker(MASTER)).store
        before = store_of.queue_unit("orders", 0, 0)
        lab.mq.faults.flip_byte(message, where="queue")
        after = store_of.queue_unit("orders", 0, 0)
        assert before is not None
        assert after is not None
        assert (before[:2], before[2] ^ 0xFF) == (after[:2], after[2])
        lab.mq.faults.flip_byte(message, where="queue", byte=11)
        assert lab.bodies() == []


def test_byte_of_the_index_is_flipped(store: str) -> None:
    with ClusterLab(store=store) as lab:
        (message,) = lab.mq.seed("orders", [b"one"], keys="k1 k2")
        assert [lab_found(lab, key) for key in ("k1", "k2")] == [True, True]
        lab.mq.faults.flip_byte(message, where="index")
        assert [lab_found(lab, key) for key in ("k1", "k2")] == [True, False]


def lab_found(lab: ClusterLab, key: str) -> bool:
    header = QueryMessageRequestHeader(
        topic="orders", key=key, max_num=32, begin_timestamp=0, end_timestamp=1 << 60
    )
    return lab.peer.ask(RequestCode.QUERY_MESSAGE, header).code == ResponseCode.SUCCESS


def test_missing_byte_is_refused(tmp_path: Path) -> None:
    with ClusterLab(store=str(tmp_path), slaves=1) as lab:
        lab.send(b"one")
        (message,) = lab.mq.messages("orders")
        flip = lab.mq.faults.flip_byte
        with pytest.raises(ConfigError, match="where='lgo': expected log or queue or index"):
            flip(message, where="lgo")
        with pytest.raises(ValueError, match="byte=20: what queue has of the message has 20 bytes"):
            flip(message, where="queue", byte=20)
        with pytest.raises(LookupError, match="broker-a-1 has nothing in its log of <message"):
            flip(message, broker=SLAVE)
        lab.mq.broker("broker-a").kill()
        with pytest.raises(ConfigError, match="broker-a-0 is stopped: flip bytes while it runs"):
            flip(message)
        assert lab.mq.faults.all() == []


# -- what makes no sense ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "place",
    [
        lambda faults: faults.lose_flush("broker-a"),
        lambda faults: faults.fail_flush("broker-a"),
        lambda faults: faults.slow_flush("broker-a", "1s"),
    ],
)
def test_memory_store_refuses_flush_faults(place: Callable[[Faults], Fault]) -> None:
    with ClusterLab() as lab, pytest.raises(ConfigError, match="store of broker-a-0 is in memory"):
        place(lab.mq.faults)


def test_invalid_values_are_refused(tmp_path: Path) -> None:
    with ClusterLab(store=str(tmp_path)) as lab:
        with pytest.raises(ConfigError, match="kept_bytes=-1"):
            lab.mq.faults.tear_last_write("broker-a", kept_bytes=-1)
        with pytest.raises(ConfigError, match="delay=0: expected more than nothing"):
            lab.mq.faults.slow_flush("broker-a", 0)
        with pytest.raises(LookupError, match="no broker 'broker-z'"):
            lab.mq.faults.disk_full("broker-z")
