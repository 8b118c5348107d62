"""When data are flushed, which puts wait for it, and what a power failure loses."""

from __future__ import annotations

import errno
import struct
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.errors import StoreError
from fakemq.events import Warned
from fakemq.events.store import UnsyncedLost
from fakemq.store.flush import MOST_TURNS, QUEUE_STEP_FILES, QUEUE_STEP_MS
from fakemq.store.inner_message import inner_message
from fakemq.store.results import PutMessageStatus
from tests.support.disk_lab import DiskLab
from tests.support.time import START_MS


@pytest.fixture
def lab(tmp_path: Path) -> DiskLab:
    lab = DiskLab(tmp_path, log_bytes=1 << 20)
    lab.start()
    return lab


def kinds(lab: DiskLab) -> dict[str, int]:
    return {timer.kind: lab.clock.due_in_ms(timer) for timer in lab.clock.timers()}


def unflushed_bytes(lab: DiskLab) -> int:
    return sum(file.position - file.flushed for file in lab.files.dirty("commitlog"))


def logics_ms(lab: DiskLab) -> int:
    """Return up to when all entries are in the queues, as the file of the checkpoint has it."""
    _, found_ms, _ = struct.unpack_from(">qqq", lab.path("checkpoint").read_bytes())
    assert isinstance(found_ms, int)
    return found_ms


# -- the loops --------------------------------------------------------------------------------


def test_idle_store_has_no_timers(lab: DiskLab) -> None:
    assert kinds(lab) == {}
    lab.advance(1_234)
    lab.put()
    assert kinds(lab) == {"flush_commit_log": 266, "flush_consume_queue": 766}
    lab.advance(200_000)
    assert kinds(lab) == {}
    assert unflushed_bytes(lab) == 0


def test_log_is_flushed_by_four_pages_or_every_ten_seconds(lab: DiskLab) -> None:
    lab.put()
    assert unflushed_bytes(lab) > 0
    lab.advance(500)  # the first tick is a thorough one
    assert unflushed_bytes(lab) == 0
    lab.put(b"x" * 100)
    lab.advance(9_499)
    assert unflushed_bytes(lab) > 0
    lab.advance(501)  # ten seconds after the first
    assert unflushed_bytes(lab) == 0
    lab.put(b"x" * 5 * 4096)
    lab.advance(499)
    assert unflushed_bytes(lab) > 0
    lab.advance(1)
    assert unflushed_bytes(lab) == 0


def test_log_that_is_not_timed_is_flushed_with_the_put_that_fills_pages(tmp_path: Path) -> None:
    lab = DiskLab(tmp_path, log_bytes=1 << 20, flush_commit_log_timed=False)
    with lab:
        lab.put()
        lab.settle()
        assert unflushed_bytes(lab) > 0
        lab.put(b"x" * 5 * 4096)
        lab.put()
        lab.settle()
        assert unflushed_bytes(lab) == 0


def test_queues_are_flushed_by_two_pages_or_every_minute(lab: DiskLab) -> None:
    lab.put()
    lab.advance(1_000)
    assert lab.files.dirty("consumequeue") == []
    lab.put()
    lab.advance(59_999)
    assert len(lab.files.dirty("consumequeue")) == 1
    lab.advance(1)
    assert lab.files.dirty("consumequeue") == []


def test_many_queues_are_flushed_in_steps_before_the_checkpoint(lab: DiskLab) -> None:
    for queue_id in range(3 * QUEUE_STEP_FILES):
        lab.put(queue_id=queue_id)
    stored_ms = lab.clock.now_ms()
    lab.advance(1_000)
    assert len(lab.files.dirty("consumequeue")) == 2 * QUEUE_STEP_FILES
    lab.put(queue_id=0)
    lab.advance(QUEUE_STEP_MS)
    assert len(lab.files.dirty("consumequeue")) == QUEUE_STEP_FILES + 1
    assert logics_ms(lab) == 0
    lab.advance(QUEUE_STEP_MS)
    assert len(lab.files.dirty("consumequeue")) == 1
    assert logics_ms(lab) == stored_ms


def test_clock_moved_back_during_a_flush_of_the_queues_counts(lab: DiskLab) -> None:
    for queue_id in range(2 * QUEUE_STEP_FILES):
        lab.put(queue_id=queue_id)
    lab.advance(1_000)
    lab.node_clock.skew_ms = -60_000
    lab.put()
    stored_ms = lab.node_clock.now_ms()
    lab.advance(QUEUE_STEP_MS)
    assert logics_ms(lab) == stored_ms


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_end_during_a_flush_of_the_queues_loses_nothing(
    lab: DiskLab, tmp_path: Path, how: str
) -> None:
    for queue_id in range(2 * QUEUE_STEP_FILES):
        lab.put(queue_id=queue_id)
    lab.advance(1_000)
    getattr(lab, how)()
    assert kinds(lab) == {}
    lab.start()
    assert all(lab.messages(queue_id=queue_id) for queue_id in range(2 * QUEUE_STEP_FILES))


def test_file_times_are_the_clusters(lab: DiskLab) -> None:
    lab.advance(100)
    lab.put()
    lab.advance(20_000)
    path = lab.path("commitlog/00000000000000000000")
    assert path.stat().st_mtime_ns == (START_MS + 100) * 1_000_000


def test_index_is_built_in_steps(lab: DiskLab) -> None:
    for _ in range(250):
        lab.put()
    lab.advance(999)
    assert list(lab.root.glob("index/*")) == []
    lab.advance(1)
    assert kinds(lab)["index_build"] == 5
    lab.advance(10)
    assert "index_build" not in kinds(lab)
    (index,) = lab.root.glob("index/*")
    assert int.from_bytes(index.read_bytes()[36:40]) == 251


# -- waiting ----------------------------------------------------------------------------------


@pytest.fixture
def sync(tmp_path: Path) -> DiskLab:
    lab = DiskLab(tmp_path, flush_disk_type="SYNC_FLUSH")
    lab.start()
    return lab


def test_puts_of_one_turn_share_one_flush(sync: DiskLab, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[bool] = []
    results = [sync.put() for _ in range(5)]
    for result in results:
        assert result.flush_to is not None
        sync.disk.flush.when_flushed(answers.append)
    assert [result.flush_to for result in results][-1] == sync.store.max_phy_offset
    assert answers == []
    sync.settle()
    assert answers == [True] * 5
    assert unflushed_bytes(sync) == 0


def test_flush_waits_for_puts_as_long_as_each_turn_brings_some(sync: DiskLab) -> None:
    answers: list[bool] = []

    def put() -> None:
        sync.put()
        sync.disk.flush.when_flushed(answers.append)

    put()
    for _ in range(3):
        sync.turn()
        put()
    sync.turn()
    assert answers == []
    sync.turn()
    assert answers == [True] * 4


def test_flush_does_not_wait_for_ever(sync: DiskLab) -> None:
    answers: list[bool] = []
    for _ in range(MOST_TURNS + 1):
        sync.put()
        sync.disk.flush.when_flushed(answers.append)
        sync.turn()
    assert answers == [True] * (MOST_TURNS + 1)


def test_put_without_wait_does_not_wait(sync: DiskLab) -> None:
    message = inner_message("orders", 0, b"x", wait_store_msg_ok=False)
    assert sync.store.put_message(message).flush_to is None
    sync.settle()
    assert unflushed_bytes(sync) == 0


def test_blocked_disk_times_out_after_five_seconds(sync: DiskLab) -> None:
    answers: list[bool] = []
    sync.disk.flush.stalled = True
    flush_to = sync.put().flush_to
    assert flush_to is not None
    sync.disk.flush.when_flushed(answers.append)
    sync.advance(4_999)
    assert answers == []
    assert kinds(sync)["sync_flush_timeout"] == 1
    sync.advance(1)
    assert answers == [False]
    sync.disk.flush.when_flushed(answers.append)
    sync.settle()
    sync.disk.flush.stalled = False
    sync.settle()
    assert answers == [False, True]
    assert "sync_flush_timeout" not in kinds(sync)


def test_puts_on_a_blocked_disk_time_out_one_after_another(sync: DiskLab) -> None:
    answers: list[tuple[int, int]] = []
    sync.disk.flush.stalled = True
    began_ms = sync.clock.elapsed_ms()

    def answered(number: int, flushed: bool) -> None:
        assert not flushed
        answers.append((number, sync.clock.elapsed_ms() - began_ms))

    for number in range(6):
        sync.put()
        sync.disk.flush.when_flushed(partial(answered, number))
        if number % 2:  # two of them at once
            sync.settle()
            sync.advance(100)
    sync.advance(6_000)
    assert answers == [(0, 5_000), (1, 5_000), (2, 5_100), (3, 5_100), (4, 5_200), (5, 5_200)]


def test_failing_disk_is_reported_and_refuses_further_puts(
    sync: DiskLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[bool] = []
    flush_to = sync.put().flush_to
    assert flush_to is not None
    sync.disk.flush.when_flushed(answers.append)

    def fail(_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("os.fdatasync", fail)
    sync.settle()
    assert answers == [False]
    result = sync.put()
    assert result.status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    log = sync.path(f"commitlog/{0:020}")
    assert result.reason == f"{log}: cannot be flushed: Input/output error"
    assert "cannot be flushed" in sync.journal.find(Warned)[0].text
    sync.stop()
    assert sync.path("abort").exists()


# -- power failures ---------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    sync=st.booleans(),
    steps=st.lists(
        st.tuples(st.integers(1, 12), st.integers(1, 3_000), st.integers(0, 1_500)),
        min_size=1,
        max_size=8,
    ),
)
def test_power_failure_loses_exactly_the_unflushed_data(
    seed: int,
    sync: bool,
    steps: list[tuple[int, int, int]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("store")
    flush_disk_type = "SYNC_FLUSH" if sync else "ASYNC_FLUSH"
    lab = DiskLab(
        root, log_bytes=16_384, queue_units=20, seed=seed, flush_disk_type=flush_disk_type
    )
    sent: list[bytes] = []
    for life in range(2):
        lab.start()
        assert lab.bodies() == sent
        ends: list[int] = []
        for count, size, pause_ms in steps:
            for _ in range(count):
                sent.append(b"%d:" % (life * 1000 + len(sent)) * size)
                sent[-1] = sent[-1][:size]
                result = lab.put(sent[-1]).append_result
                assert result is not None
                ends.append(result.wrote_offset + result.wrote_bytes)
            lab.advance(pause_ms)
        before = len(sent) - len(ends)
        lab.kill(lose_unsynced=True)
        lost = lab.journal.find(UnsyncedLost)[-1]
        safe = before + sum(end <= lost.log_offset for end in ends)
        if sync:
            assert (lost.log_bytes, safe) == (0, len(sent))
        lab.start()
        bodies = lab.bodies()
        assert bodies == sent[: len(bodies)]
        assert safe <= len(bodies) <= len(sent)
        sent = bodies
        lab.kill()


@pytest.mark.parametrize("seed", range(12))
def test_clock_moved_back_loses_no_acknowledged_data(tmp_path: Path, seed: int) -> None:
    lab = DiskLab(tmp_path, seed=seed, flush_disk_type="SYNC_FLUSH")
    lab.start()
    lab.node_clock.skew_ms = 3_600_000
    lab.put(b"first")
    lab.advance(122_000)  # log and queues are flushed, and the checkpoint is an hour ahead
    lab.node_clock.skew_ms = 0
    sent = [b"first", *(b"%d" % number * 100 for number in range(60))]
    for body in sent[1:]:
        lab.put(body)
        lab.settle()
    lab.kill(lose_unsynced=True)
    lab.start()
    assert lab.bodies() == sent
    assert [message.queue_offset for message in lab.messages()] == list(range(61))
    lab.stop()


def test_checkpoint_follows_a_clock_moved_back(lab: DiskLab) -> None:
    lab.node_clock.skew_ms = 3_600_000
    lab.put()
    lab.advance(122_000)
    lab.node_clock.skew_ms = 0
    lab.put()
    now_ms = lab.node_clock.now_ms()
    data = lab.path("checkpoint").read_bytes()
    assert (int.from_bytes(data[:8]), int.from_bytes(data[8:16])) == (now_ms, now_ms)


def test_store_that_failed_once_starts_as_after_a_crash(sync: DiskLab) -> None:
    sync.put()
    sync.settle()
    error = StoreError("commitlog/0: cannot be flushed: Input/output error")
    sync.store.disk_space.failed(error, lambda: None)
    sync.stop()  # this time all can be written
    assert sync.path("abort").exists()
    assert not sync.start().clean


@pytest.mark.parametrize("error", [StoreError("full"), ValueError("a mistake")])
def test_failing_stop_releases_everything(
    sync: DiskLab, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    answers: list[bool] = []
    sync.disk.flush.when_flushed(answers.append)

    def fail() -> None:
        raise error

    monkeypatch.setattr(sync.disk.flush, "everything", fail)
    if isinstance(error, StoreError):
        sync.stop()
    else:
        with pytest.raises(ValueError, match="a mistake"):
            sync.stop()
    assert answers == [False]
    assert sync.path("abort").exists()
    assert not sync.start().clean  # the lock was released
